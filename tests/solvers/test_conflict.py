"""An infeasible program names the blocks that contradict each other, and no others."""

import numpy as np
import pytest

from clearmargin.exceptions import InfeasibleError
from clearmargin.solvers import (
    Cone,
    Conflict,
    Demand,
    Linear,
    Program,
    Variables,
    find_conflict,
    solve,
)

BOX = Variables("x", 3, 0.0, 1.0, cost=1.0)
DISC = Cone("disc", {"x": np.vstack([np.zeros(3), np.eye(3)])}, [1.0, 0.0, 0.0, 0.0])


def rows(name, *args, **limits):
    return Linear(name, {"x": list(args) if len(args) > 1 else args[0]}, **limits)


CONFLICTS = [
    (
        "rows against bounds",
        [BOX, rows("much", 1.0, lower=4.0), rows("harmless", 1.0, 0.0, 0.0, upper=5.0)],
        ("x", "much"),
        "no point satisfies the bounds of 'x' (entries 0, 1, 2) and the constraint 'much' together",
    ),
    (
        "rows against rows",
        [
            BOX,
            rows("low", 1.0, 1.0, 0.0, upper=0.5),
            rows("harmless", 1.0, upper=2.9),
            rows("high", [[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]], lower=[0.2, 0.6]),
        ],
        ("low", "high"),
        "no point satisfies the constraint 'low' and the constraint 'high' (row 1) together",
    ),
    (
        "a block against itself",
        [BOX, rows("odd", [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], lower=[0.5, 0.0], upper=[1.0, 0.4])],
        ("odd",),
        "no point satisfies the constraint 'odd' (rows 0, 1)",
    ),
    (
        "cone against row",
        [
            Variables("x", 3),
            DISC,
            rows("far", 1.0, 0.0, 0.0, lower=1.5),
            rows("idle", 1.0, upper=9.0),
        ],
        ("disc", "far"),
        None,
    ),
    (
        "cone against bounds",
        [Variables("x", 3, lower=1.0), DISC, rows("idle", 1.0, upper=9.0)],
        ("x", "disc"),
        None,
    ),
    (
        "integrality",
        [Variables("x", 3, integer=True), rows("half", 2.0, 0.0, 0.0, lower=1.0, upper=1.0)],
        ("x", "half"),
        "no point satisfies the integrality of 'x' and the constraint 'half' together",
    ),
    (
        "integers that have nothing to do with it",
        [
            Variables("n", 2, 0, 5, integer=True),
            BOX,
            rows("much", 1.0, lower=4.0),
            Linear("link", {"n": 1.0, "x": 1.0}, lower=1.0),
        ],
        ("x", "much"),
        None,
    ),
]


@pytest.mark.parametrize(
    ("blocks", "names", "message"),
    [pytest.param(*case[1:], id=case[0]) for case in CONFLICTS],
)
def test_a_conflict_is_named_and_minimal(blocks, names, message):
    program = Program(blocks)
    with pytest.raises(InfeasibleError, match=r"^no point satisfies ") as caught:
        solve(program)
    assert caught.value.blocks == names
    if message:
        assert str(caught.value) == message
    conflict = find_conflict(program)
    assert conflict.blocks == names
    assert conflict.is_minimal


def test_a_feasible_program_has_no_conflict(sample, backend):
    assert find_conflict(sample.program) is None


def test_without_explanation_no_blocks_are_named():
    program = Program([BOX, rows("much", 1.0, lower=4.0)])
    with pytest.raises(InfeasibleError, match=r"^no point satisfies all constraints$") as caught:
        solve(program, explain=False)
    assert caught.value.blocks == ()


def test_many_rows_are_counted_rather_than_listed():
    conflict = Conflict((Demand("constraint", "r", rows=(5, 4, 3, 2, 1)),), is_minimal=True)
    assert str(conflict) == "no point satisfies the constraint 'r' (rows 5, 4, 3 and 2 more)"


def test_a_search_without_time_finds_nothing_rather_than_something_wrong():
    program = Program([Variables("x", 3), DISC, rows("far", 1.0, 0.0, 0.0, lower=1.5)])
    assert find_conflict(program, time_limit=1e-9) is None


def test_every_block_of_a_random_conflict_is_needed():
    rng = np.random.default_rng(3)
    found = 0
    for _ in range(60):
        blocks = [Variables("x", 3, -1.0, 1.0)]
        for k in range(5):
            limits = {"lower" if rng.random() < 0.5 else "upper": rng.normal()}
            blocks.append(Linear(f"r{k}", {"x": rng.normal(size=(1, 3))}, **limits))
        program = Program(blocks)
        conflict = find_conflict(program)
        if conflict is None:
            solve(program)
            continue
        found += 1
        x = blocks[0] if "x" in conflict.blocks else Variables("x", 3)
        kept = [b for b in blocks[1:] if b.name in conflict.blocks]
        with pytest.raises(InfeasibleError, match="no point"):
            solve(Program([x, *kept]))
        for block in kept:
            solve(Program([x, *(b for b in kept if b is not block)]))
        if "x" in conflict.blocks:
            solve(Program([Variables("x", 3), *kept]))
    assert found > 10
