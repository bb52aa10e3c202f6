"""The last baseline: ratios as they were, and which of today's are worse."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.page import Ratio, Section, Table

__all__ = ["WORSE", "Comparison", "belongs", "collect", "compare", "read", "to_section", "write"]

PATH = Path(__file__).parent / "baseline.json"
# A ratio is flagged when it is worse by more than this factor.
WORSE = 1.25


def collect(sections: Sequence[Section]) -> dict[str, Ratio]:
    """All ratios of all sections, by the title of the section and their own name."""
    found: dict[str, Ratio] = {}
    for section in sections:
        for name, ratio in section.ratios.items():
            key = f"{section.title}: {name}"
            if key in found:
                raise ValueError(f"two ratios are called {key!r}; give each a name of its own")
            if not 0.0 < ratio.value < float("inf"):
                raise ValueError(
                    f"the ratio {key!r} is {ratio.value}; ratios are positive and finite"
                )
            found[key] = ratio
    return found


def belongs(name: str, sections: Sequence[Section]) -> bool:
    """Whether a ratio is one of these sections; titles may have colons of their own."""
    return any(name.startswith(f"{section.title}: ") for section in sections)


@dataclass(frozen=True)
class Comparison:
    """Today's ratios beside those of the baseline.

    `factors` says how many times worse each ratio is that is in both: 2 is half as good, 0.5 twice as good.
    """

    old: Mapping[str, float]
    new: Mapping[str, Ratio]
    factors: Mapping[str, float]

    @property
    def regressions(self) -> list[str]:
        """Ratios that are worse by more than `WORSE`, the worst first."""
        found = [name for name, factor in self.factors.items() if factor > WORSE]
        return sorted(found, key=lambda name: (-self.factors[name], name))

    @property
    def gains(self) -> list[str]:
        """Ratios that are better by more than `WORSE`, the best first."""
        found = [name for name, factor in self.factors.items() if factor < 1.0 / WORSE]
        return sorted(found, key=lambda name: (self.factors[name], name))

    @property
    def added(self) -> list[str]:
        """Ratios that the baseline does not have."""
        return sorted(set(self.new) - set(self.old))

    @property
    def lost(self) -> list[str]:
        """Ratios of the baseline that were not measured today."""
        return sorted(set(self.old) - set(self.new))


def compare(old: Mapping[str, float], new: Mapping[str, Ratio]) -> Comparison:
    """Set today's ratios beside the baseline."""
    factors = {
        name: old[name] / ratio.value if ratio.larger_is_better else ratio.value / old[name]
        for name, ratio in new.items()
        if name in old
    }
    return Comparison(dict(old), dict(new), factors)


def read(sizes: str, path: Path = PATH) -> dict[str, float]:
    """The baseline for "quick" or "full" sizes; empty where there is none."""
    if not path.exists():
        return {}
    stored = json.loads(path.read_text(encoding="utf-8")).get(sizes, {})
    return {name: float(value) for name, value in stored.items()}


def write(sizes: str, ratios: Mapping[str, Ratio], path: Path = PATH) -> None:
    """Keep ratios as the baseline for these sizes; those of the other sizes stay."""
    stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    # Three digits are more than timings repeat, and keep the differences between versions readable.
    stored[sizes] = {name: float(f"{ratio.value:.3g}") for name, ratio in ratios.items()}
    path.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _line(comparison: Comparison, name: str) -> list[str]:
    ratio, factor = comparison.new[name], comparison.factors[name]
    said = f"**worse {factor:.2f} times**" if factor > 1.0 else f"better {1.0 / factor:.2f} times"
    wanted = "larger" if ratio.larger_is_better else "smaller"
    return [name, wanted, f"{comparison.old[name]:.3g}", f"{ratio.value:.3g}", said]


def to_section(comparison: Comparison, command: str) -> Section:
    """What a reader of the page has to know: every ratio that moved by more than the limit."""
    worse, better = comparison.regressions, comparison.gains
    limit = f"{100 * (WORSE - 1):.0f} %"
    if not comparison.old:
        finding = f"there is no baseline for these sizes; `{command} --set-baseline` makes one."
    else:
        finding = (
            f"of {len(comparison.factors)} ratios {len(worse)} are worse by more than {limit} and {len(better)} are "
            "better by as much."
        )
    verdict = [finding[0].upper() + finding[1:]]
    for what, names in (
        ("Not in the baseline", comparison.added),
        ("Not measured this time", comparison.lost),
    ):
        if names and comparison.old:
            verdict.append(f"{what}: {'; '.join(names)}.")
    verdict.append(
        "Each is a ratio of two measurements of one run, taken in turns where one process can do it, so a machine that "
        "is slower or busier throughout changes it little; load that comes and goes still moves single ratios, and a "
        "flag is a reason to measure again, not a proof."
    )
    rows = [_line(comparison, name) for name in [*worse, *better]]
    header = ["ratio", "better when", "baseline", "now", "that is"] if rows else []
    return Section(
        "Against the last baseline",
        "Which ratios on this page have changed since the baseline was taken?",
        Table(header, rows),
        " ".join(verdict),
        finding,
    )
