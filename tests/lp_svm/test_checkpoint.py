"""A search that is stopped after any pass goes on from its file, and finds the same plane to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from clearmargin.exceptions import DataError, FileDamagedError
from clearmargin.lp_svm import LPSVC, lpsvm_sifting
from clearmargin.lp_svm.lpsvm_solve import solve_partitions
from clearmargin.tables.partitions import ArrayBlocks


class KilledError(Exception):
    """The driver is gone."""


class Mortal:
    """Partitions whose driver is killed in a pass; samples are not counted."""

    def __init__(self, blocks: ArrayBlocks, last: float = np.inf):
        self.blocks, self.n_passes, self.last = blocks, 0, last
        self.names, self.lengths = blocks.names, blocks.lengths

    def map(self, f, own=None, common=()):
        self.n_passes += 1
        if self.n_passes > self.last:
            raise KilledError
        return self.blocks.map(f, own, common)

    def sample(self, share):
        return self.blocks.sample(share)


@pytest.fixture
def rows(monkeypatch):
    monkeypatch.setattr(lpsvm_sifting, "_FIRST_SAMPLE", 60)
    monkeypatch.setattr(lpsvm_sifting, "_GROWTH", 3)
    # Windows that are too narrow need more passes.
    monkeypatch.setattr(lpsvm_sifting.Sifting, "width", lambda sifting, w, n_rows: 0.01)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_500, 5))
    y = np.where(X @ [1.0, -2.0, 0.5, 0.0, 0.0] + rng.normal(size=1_500) > 0.1, 1.0, -1.0)
    return ArrayBlocks(X, y, np.full(1_500, 0.05), block_rows=200)


def test_a_driver_that_was_killed_in_any_pass_goes_on_and_finds_the_same_plane(rows, tmp_path):
    path = tmp_path / "state.json"
    alive = Mortal(rows)
    best = solve_partitions(alive, 1.0)
    assert alive.n_passes >= 4
    for last in range(1, alive.n_passes):
        with pytest.raises(KilledError):
            solve_partitions(Mortal(rows, last), 1.0, solver="sifting", checkpoint=path)
        assert path.exists()
        # The next driver has other partitions, and is killed as well, once.
        other = ArrayBlocks(rows.X, rows.y, rows.cost, block_rows=333)
        if last > 2:
            with pytest.raises(KilledError):
                solve_partitions(Mortal(other, 2), 1.0, solver="sifting", checkpoint=path)
        found = solve_partitions(Mortal(other), 1.0, checkpoint=path)
        np.testing.assert_array_equal(found.w, best.w)
        assert (found.b, found.objective, found.gap) == (best.b, best.objective, best.gap)
        assert not path.exists()


def test_what_was_done_is_not_done_again(rows, tmp_path):
    path = tmp_path / "state.json"
    alive = Mortal(rows)
    solve_partitions(alive, 1.0)
    with pytest.raises(KilledError):
        solve_partitions(Mortal(rows, alive.n_passes - 1), 1.0, solver="sifting", checkpoint=path)
    again = Mortal(rows)
    solve_partitions(again, 1.0, checkpoint=path)
    # The census, the window with what entered it, and a judgement.
    assert again.n_passes <= min(4, alive.n_passes - 1)


def test_a_checkpoint_of_another_search_is_refused(rows, tmp_path):
    path = tmp_path / "state.json"
    with pytest.raises(KilledError):
        solve_partitions(Mortal(rows, 3), 1.0, solver="sifting", checkpoint=path)
    with pytest.raises(DataError, match="belongs to another table or to other settings; remove it"):
        solve_partitions(rows, 2.0, checkpoint=path)
    path.write_text("{}")
    with pytest.raises(FileDamagedError, match="is no checkpoint"):
        LPSVC(checkpoint=path).fit(rows.X, rows.y)


def test_a_fit_in_memory_takes_a_checkpoint_too(rows, tmp_path):
    path = tmp_path / "state.json"
    with_file = LPSVC(0.05, checkpoint=path).fit(rows.X, rows.y)
    assert not path.exists()
    np.testing.assert_array_equal(with_file.coef_, LPSVC(0.05).fit(rows.X, rows.y).coef_)
