"""The sections about quality: what to choose, what was measured, who is ahead, single explanations, each data set."""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.page import Section, Table
from benchmarks.quality.ahead import ahead_section
from benchmarks.quality.choice import choice_section
from benchmarks.quality.data import SETS, DataSet, LeftOut, load
from benchmarks.quality.folds import TEACHERS, folds
from benchmarks.quality.jobs import Job, shared
from benchmarks.quality.leads import leads_section
from benchmarks.quality.measure import ask_peers, assemble, start, start_cards
from benchmarks.quality.others import (
    Anchors,
    Peers,
    anchor_explanations,
    peer_answers,
    peer_versions,
)
from benchmarks.quality.picture import draw
from benchmarks.quality.plan import FULL, QUICK, Plan
from benchmarks.quality.single import EXPLAINED
from benchmarks.quality.single_table import judge_all, pooled, single_section, start_single
from benchmarks.quality.tables import panel_section

__all__ = ["INTRO", "PICTURE", "sections", "sections_of"]

PICTURE = Path(__file__).resolve().parents[1] / "pictures" / "quality.svg"

INTRO = (
    "Every method sees the training rows of a fold with what the machine says of them, and is judged on held-out rows; "
    "ours may also ask the machine. *Fidelity, rules alone* is on all held-out rows by the rules and a default "
    "class, without falling back to the machine; the default of ours is chosen on training rows. *One class* states "
    "the rules of one class only, with the other by default, where that is as faithful on training rows. "
    "*Overlap* is the share of rows that rules of different classes cover, or several terms of a weighted sum; "
    "*proved* the share of held-out predictions that carry a proof that the machine says the same everywhere under "
    "the rule. *AUC* is against the true classes; the score of our rules is the share of a class among the training "
    "rows that a rule decides, that of a scorecard its points. `ScoreRules` is a sum of cuts with whole points: each "
    "cut is a rule with one condition. Rules do not count the default; conditions are bounds, two for an interval with "
    "both ends, summed over rules. Leaves of a scikit-learn tree side by side with one class count as one. Seconds are "
    "processor time of one extraction. After ± stands a standard error: the deviation over folds by the root of the "
    "folds of one repetition."
)


def _scope(sets: Sequence[DataSet], missing: Sequence[LeftOut], plan: Plan) -> Section:
    """Which sets were measured, and which were not."""
    table = Table(["data", "rows", "columns", "of these 0/1 for categories", "classes", "measured"])
    for data in sets:
        limits = f"{plan.repetitions} x 5 folds"
        if data.most_train is not None:
            limits += f", {data.most_train:,} training and {data.most_test:,} held-out rows of each"
        shape = [f"{n:,}" for n in (*data.X.shape, data.n_encoded)]
        table.rows.append([data.name, *shape, ", ".join(data.classes), limits])
    table.rows += [[each.name, *["-"] * 4, f"left out: {each.reason}"] for each in missing]
    others = [name for name in SETS if name not in plan.names]
    verdict = (
        "Machines: LinearSVC(C=1) and SVC() of scikit-learn, each behind a StandardScaler. "
        f"Peers: {', '.join(peer_versions())}."
    )
    slow = [f"{name}: {count}" for name, count in plan.first_folds.items() if count]
    if slow:
        verdict += (
            f" Slow methods get only the first folds of each set and machine ({'; '.join(slow)})."
        )
    never = [name for name, count in plan.first_folds.items() if not count]
    if never:
        verdict += f" Not run because they are slower still: {'; '.join(never)}."
    if others:
        verdict += f" Left to the full run: {', '.join(others)}."
    return Section("Rules beside those of peers: what is measured", INTRO, table, verdict)


def sections_of(
    plan: Plan,
    *,
    peers: Peers = peer_answers,
    anchors: Anchors = anchor_explanations,
    picture: Path | None = PICTURE,
) -> list[Section]:
    """Measure a plan: ours in a second process, the peers meanwhile in theirs; two processors are enough."""
    sets, missing = load(plan.names)
    parts = [list(folds(data, teacher, plan.repetitions)) for data in sets for teacher in TEACHERS]
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as name, ProcessPoolExecutor(1, mp_context=context) as pool:
        folder = Path(name)
        asked = [[start(fold, plan, pool) for fold in part] for part in parts]
        cases = [start_single(part[0], plan, pool) for part in parts if part[0].data in EXPLAINED]
        others = ask_peers(parts, plan, folder, peers)
        # Made while anchors are asked.
        cards = start_cards(parts, others, pool)
        explained = anchors(
            [(case.fold, case.rows) for case in cases], folder, plan.seconds * plan.n_explained
        )
        everything: list[Job[Any]] = [*(each for part in asked for each in part), *cards]
        # The processor that the peers had is free now.
        with (
            ProcessPoolExecutor(1, mp_context=context) as second,
            shared(everything, second),
        ):
            judged = judge_all(cases, plan, explained)
            here = [[each.result() for each in part] for part in asked]
            panels = assemble(parts, here, others, [each.result() for each in cards])
    single = [single_section(cases, plan, explained, judged)] if cases else []
    ahead = ahead_section(panels)
    if picture is not None:
        draw(panels, picture)
        ahead.picture = f"{picture.parent.name}/{picture.name}"
    choice = choice_section(panels, pooled(cases, judged))
    found = [choice, _scope(sets, missing, plan), ahead, leads_section(panels)]
    return [*found, *single, *(panel_section(panel) for panel in panels)]


def sections(full: bool) -> list[Section]:
    """The sections of the page: on the sets of the package, or on all sets and more folds."""
    if full:
        return sections_of(FULL, picture=PICTURE.with_stem(f"{PICTURE.stem}_full"))
    return sections_of(QUICK)
