from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.svm_trees import Layer, Leaf, SVMTree

PURE, OTHER = Leaf("pure", 0, [3, 0]), Leaf("pure", 1, [0, 2])
MACHINE = Leaf("svm", 0, [1, 1], [(0, 1)], [[1.0, -0.25]], [3.5], n_support=2)


def small_tree(**changes):
    layers = [
        Layer([[0.0, 1.0], [8.0, 1.0]], [(3, 0), (3, 4)], [PURE, None]),
        Layer([[8.0, 2.0], [9.0, 4.0]], [(1, 1), (0, 2)], [MACHINE, OTHER]),
        Layer([[7.0, 3.0]], [(2, 1)], [Leaf("residual", 0, [2, 1])]),
    ]
    parts = {
        "layers": layers,
        "low": [0.0, 0.0],
        "width": [10.0, 5.0],
        "names": ["age", "dose"],
        "classes": ["well", "ill"],
    }
    return SVMTree(**(parts | changes))


def test_a_tree_is_drawn_with_layers_sizes_and_inequalities():
    assert str(small_tree()) == (
        "SVM tree: 3 layers, 4 leaves (2 of one class, 1 with a machine, 1 of what was left), "
        "10 training points, 2 support vectors\n"
        "layer 1, 10 points, nearest of 2 centres:\n"
        "  leaf 0 near age = 0: 3 of well => well\n"
        "  1 other cell: 3 of well, 4 of ill => next layer\n"
        "layer 2, 4 points, nearest of 2 centres:\n"
        "  leaf 1 near age = 8, dose = 2: 1 of well, 1 of ill => ill if age - 0.25*dose > 3.5, else well\n"
        "  leaf 2 near age = 9, dose = 4: 2 of ill => ill\n"
        "layer 3, 3 points, all of them:\n"
        "  leaf 3: 2 of well, 1 of ill => well (most frequent)"
    )


def test_a_tree_is_drawn_with_other_names_and_the_right_number_of_them():
    text = small_tree().to_text(["x", "y"])
    assert "ill if x - 0.25*y > 3.5" in text
    assert "age" not in text
    with pytest.raises(InvalidValueError, match="1 names for 2 features"):
        small_tree().to_text(["x"])


def test_long_inequalities_and_centres_are_cut_short():
    normal = np.linspace(1.0, 0.1, 10)
    leaf = Leaf("svm", 0, [1, 1], [(0, 1)], [normal], [0.0])
    layer = Layer(np.vstack([np.zeros(10), np.ones(10)]), [(1, 1), (3, 0)], [leaf, PURE])
    tree = SVMTree([layer], np.zeros(10), np.ones(10), [f"g{j}" for j in range(10)], [0, 1])
    line = str(tree).splitlines()[2]
    assert line.count("=") == 4  # three features of the centre, and the arrow
    assert "0.5*g5 + ... (4 more) > 0" in line


def test_several_machines_are_drawn_duel_by_duel():
    leaf = Leaf("svm", 2, [1, 1, 2], [(0, 1), (0, 2), (1, 2)], [[-1.0], [0.0], [1.0]], [2.0, -1, 3])
    tree = SVMTree([Layer([[0.0]], [(1, 1, 2)], [leaf])], [0.0], [1.0], ["x"], "abc")
    assert str(tree).endswith("=> b if - x > 2, else a; c; c if x > 3, else b; c if none wins all")


def test_trees_are_values():
    tree = small_tree()
    assert tree == small_tree()
    assert hash(tree) == hash(small_tree())
    assert tree != small_tree(width=[10.0, 6.0])
    assert tree != small_tree(layers=small_tree().layers[2:])
    for twin in (pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)):
        assert twin == tree
        assert not twin.layers[0].centres.flags.writeable
    assert (
        repr(tree) == "<SVMTree of 3 layers with 4 leaves over 2 features, classes ('well', 'ill')>"
    )


def test_rows_descend_layer_by_layer():
    tree = small_tree()
    X = [[0.0, 0.0], [8.0, 2.0], [9.0, 4.5], [4.0, 1.0], [8.0, -9.0]]
    assert tree.apply(X).tolist() == [0, 1, 2, 0, 1]
    assert tree.decide(X).tolist() == [0, 1, 1, 0, 1]
    assert tree.apply(np.empty((0, 2))).tolist() == []
    assert tree.decide(np.empty((0, 2))).tolist() == []


def test_a_row_on_the_plane_of_a_machine_is_of_the_first_class():
    assert MACHINE.decide(np.array([[3.5, 0.0], [np.nextafter(3.5, 4), 0.0]])).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: small_tree(layers=[]), "all cells of the last layer of a tree must be leaves"),
        (lambda: small_tree(layers=small_tree().layers[:1]), "last layer of a tree must be leaves"),
        (lambda: small_tree(low=[0.0]), r"low has shape \(1,\), but \(2,\)"),
        (
            lambda: Layer([[0.0]], [(1, 1)], [PURE, OTHER]),
            "1 centres, 1 rows of counts and 2 cells",
        ),
        (lambda: Leaf("svm", 0, [1, 1], [(0, 1)]), "1 pairs of classes, but 0 planes"),
        (lambda: Leaf("svm", 0, [1, 1], [(0, 1)], [[np.nan]], [0.0]), "normals must not be NaN"),
    ],
)
def test_what_is_no_tree_is_refused(make, message):
    with pytest.raises(InvalidValueError, match=message):
        make()


def test_rows_of_another_width_are_refused():
    with pytest.raises(DataError, match="X has 3 columns, but 2 features"):
        small_tree().apply([[1.0, 2.0, 3.0]])
