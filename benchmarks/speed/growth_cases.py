"""What grows with what: the calls, the size that is varied, and the sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.speed import growth_runs as runs

__all__ = ["CASES", "Case"]


@dataclass(frozen=True)
class Case:
    """A call, what is varied, what stays, and the sizes; the larger half of them for a full run only."""

    call: str
    varied: str
    kept: str
    quick: tuple[int, ...]
    full: tuple[int, ...]
    make: Callable[[int], runs.Run]

    def sizes(self, full: bool) -> tuple[int, ...]:
        """The sizes of a run."""
        return self.full if full else self.quick


ROWS = (1_000, 3_000, 10_000, 30_000, 100_000)
MORE_ROWS = (*ROWS, 300_000, 1_000_000)
FEATURES = (2, 4, 8, 16, 32)
VECTORS = (50, 100, 200, 400)
EXTRACT, EXPLAIN = "RuleExtractor.fit", "RuleExtractor.explain"

CASES = (
    Case(
        EXTRACT,
        "rows",
        "5 features, max_rules=50",
        (10_000, 30_000, 100_000, 300_000),
        (10_000, 30_000, 100_000, 300_000, 1_000_000),
        lambda m: runs.extract(m, 5, 50),
    ),
    Case(
        EXTRACT,
        "features",
        "20,000 rows, max_rules=50",
        (2, 4, 8, 16),
        (*FEATURES, 64),
        lambda n: runs.extract(20_000, n, 50),
    ),
    Case(
        EXTRACT,
        "rules",
        "20,000 rows x 5, as max_rules",
        (5, 10, 20, 40, 80),
        (5, 10, 20, 40, 80, 160, 320),
        lambda r: runs.extract(20_000, 5, r),
    ),
    Case(
        EXPLAIN,
        "features",
        "one case, max_rules=20",
        FEATURES,
        (*FEATURES, 64),
        lambda n: runs.explain(n, 20),
    ),
    Case(
        EXPLAIN,
        "rules",
        "one case, 5 features, as max_rules",
        (5, 20, 80, 320),
        (5, 20, 80, 320, 1_280),
        lambda r: runs.explain(5, r),
    ),
    Case(
        "RuleSet.covers", "rows", "100 rules x 10", ROWS, MORE_ROWS, lambda m: runs.covers(m, 100)
    ),
    Case(
        "RuleSet.covers",
        "rules",
        "10,000 rows x 10",
        (10, 30, 100, 300, 1_000),
        (10, 30, 100, 300, 1_000, 3_000),
        lambda r: runs.covers(10_000, r),
    ),
    Case(
        "RuleSet.predict", "rows", "100 rules x 10", ROWS, MORE_ROWS, lambda m: runs.predict(m, 100)
    ),
    Case(
        "RuleSet.predict",
        "rules",
        "10,000 rows x 10",
        (10, 30, 100, 300, 1_000),
        (10, 30, 100, 300, 1_000, 3_000),
        lambda r: runs.predict(10_000, r),
    ),
    Case(
        "parse_rules",
        "rules",
        "3 conditions each",
        (100, 300, 1_000, 3_000),
        (100, 300, 1_000, 3_000, 10_000, 30_000),
        runs.parse,
    ),
    Case("LPSVC.fit", "rows", "10 features", ROWS, MORE_ROWS, lambda m: runs.lpsvc(m, 10)),
    Case(
        "LPSVC.fit",
        "features",
        "4,000 rows",
        (10, 20, 40, 80, 160),
        (10, 20, 40, 80, 160, 320, 640, 1_280),
        lambda n: runs.lpsvc(4_000, n),
    ),
    Case(
        "AdviceSVC.fit",
        "rows",
        "6 rules, 10 features",
        (1_000, 2_000, 4_000, 8_000),
        (1_000, 2_000, 4_000, 8_000, 16_000, 32_000),
        lambda m: runs.advice(m, 6),
    ),
    Case(
        "AdviceSVC.fit",
        "rules",
        "2,000 rows x 10, rules of advice",
        (2, 4, 8, 16, 32),
        (2, 4, 8, 16, 32, 64, 128),
        lambda r: runs.advice(2_000, r),
    ),
    Case(
        "SVMTreeClassifier.fit",
        "rows",
        "5 features",
        (200, 400, 800, 1_600),
        (200, 400, 800, 1_600, 3_200, 6_400),
        runs.tree,
    ),
    Case(
        "RankContrast.fit",
        "rows",
        "40 properties, max_size=2",
        (1_000, 4_000, 16_000, 64_000),
        (1_000, 4_000, 16_000, 64_000, 256_000),
        lambda m: runs.contrast(m, 40),
    ),
    Case(
        "RankContrast.fit",
        "properties",
        "2,000 rows, max_size=2",
        (20, 40, 80, 160, 320),
        (20, 40, 80, 160, 320, 640),
        lambda p: runs.contrast(2_000, p),
    ),
    Case(
        "SupportVectorRules.fit",
        "support vectors",
        "5 features",
        VECTORS,
        (*VECTORS, 800, 1_600),
        lambda v: runs.support_vector_rules(v, 5),
    ),
    Case(
        "SupportVectorRules.fit",
        "features",
        "200 support vectors",
        FEATURES,
        (*FEATURES, 64),
        lambda n: runs.support_vector_rules(200, n),
    ),
    Case(
        "certify",
        "support vectors",
        "one box, 5 features",
        (200, 400, 800, 1_600),
        (200, 400, 800, 1_600, 3_200, 6_400),
        lambda v: runs.certify_box(v, 5),
    ),
    Case(
        "certify",
        "features",
        "one box, 400 support vectors",
        FEATURES,
        (*FEATURES, 64),
        lambda n: runs.certify_box(400, n),
    ),
    Case(
        "grow_box",
        "support vectors",
        "one case, 5 features",
        (100, 200, 400, 800),
        (100, 200, 400, 800, 1_600, 3_200),
        lambda v: runs.grow(v, 5),
    ),
    Case(
        "grow_box",
        "features",
        "one case, 200 support vectors",
        (2, 4, 6, 8),
        (2, 4, 6, 8, 12, 16, 24),
        lambda n: runs.grow(200, n),
    ),
)
