"""A tree of support vector machines as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.language.prose import plain
from clearmargin.rules.value import FloatArray
from clearmargin.svm_trees.svm_tree import Layer, Leaf, SVMTree

__all__ = ["draw_tree"]

# So many features tell where a centre is, and so many terms are shown of an inequality.
_SHOWN_PLACES, _SHOWN_TERMS = 3, 6
_KINDS = {"pure": "of one class", "svm": "with a machine", "residual": "of what was left"}


def draw_tree(tree: SVMTree, names: Sequence[str]) -> str:
    """Draw a tree, one line a leaf.

    Parameters
    ----------
    tree : SVMTree
        The tree.
    names : sequence of str
        Names of the features.

    Returns
    -------
    str
        The drawing.
    """
    if len(names) != len(tree.names):
        raise InvalidValueError(f"{len(names)} names for {len(tree.names)} features")
    return "\n".join(_lines(tree, names))


def _lines(tree: SVMTree, names: Sequence[str]) -> Iterator[str]:
    kinds: Counter[str] = Counter(leaf.kind for leaf in tree.leaves)
    listed = ", ".join(f"{kinds[kind]} {words}" for kind, words in _KINDS.items() if kinds[kind])
    yield (
        f"SVM tree: {_count(len(tree.layers), 'layer')}, {_count(tree.n_leaves, 'leaf', 'leaves')} ({listed}), "
        f"{_count(sum(leaf.size for leaf in tree.leaves), 'training point')}, "
        f"{_count(tree.n_support_vectors, 'support vector')}"
    )
    number = 0
    for t, layer in enumerate(tree.layers, start=1):
        how = f"nearest of {len(layer.leaves)} centres" if len(layer.leaves) > 1 else "all of them"
        yield f"layer {t}, {_count(layer.size, 'point')}, {how}:"
        shown = _telling_features(layer.centres, tree.width)
        for centre, leaf in zip(layer.centres, layer.leaves, strict=True):
            if leaf is not None:
                place = ", ".join(f"{names[j]} = {centre[j]:.4g}" for j in shown)
                where = f" near {place}" if len(layer.leaves) > 1 else ""
                yield f"  leaf {number}{where}: {_sizes(leaf.counts, tree)} => {_say(leaf, tree, names)}"
                number += 1
        yield from _rest(layer, tree)


def _rest(layer: Layer, tree: SVMTree) -> Iterator[str]:
    others = [c for c, leaf in zip(layer.counts, layer.leaves, strict=True) if leaf is None]
    if others:
        counts = [sum(column) for column in zip(*others, strict=True)]
        yield f"  {_count(len(others), 'other cell')}: {_sizes(counts, tree)} => next layer"


def _telling_features(centres: FloatArray, width: FloatArray) -> list[int]:
    """The features in which the centres of a layer differ most."""
    spread = np.ptp(centres, axis=0) / width
    most = np.argsort(-spread, kind="stable")[:_SHOWN_PLACES]
    return sorted(int(j) for j in most if spread[j] > 0)


def _sizes(counts: Sequence[int], tree: SVMTree) -> str:
    labels = [plain(label) for label in tree.classes]
    return ", ".join(f"{n} of {label}" for label, n in zip(labels, counts, strict=True) if n)


def _say(leaf: Leaf, tree: SVMTree, names: Sequence[str]) -> str:
    label = plain(tree.classes[leaf.label])
    if not leaf.pairs:
        return label if leaf.kind == "pure" else f"{label} (most frequent)"
    duels = [
        _duel(normal, offset, [plain(tree.classes[code]) for code in pair], names)
        for pair, normal, offset in zip(leaf.pairs, leaf.normals, leaf.offsets, strict=True)
    ]
    last = f"; {label} if none wins all" if len(duels) > 1 else ""
    return "; ".join(duels) + last


def _duel(normal: FloatArray, offset: float, rivals: list[str], names: Sequence[str]) -> str:
    first, second = rivals
    if not normal.any():
        return second if offset < 0 else first
    used = [int(j) for j in np.argsort(-np.abs(normal), kind="stable") if normal[j]]
    terms = "".join(_term(normal[j], names[j]) for j in sorted(used[:_SHOWN_TERMS]))
    more = f" + ... ({len(used) - _SHOWN_TERMS} more)" if len(used) > _SHOWN_TERMS else ""
    return f"{second} if {terms.removeprefix(' + ').strip()}{more} > {offset:.4g}, else {first}"


def _term(weight: float, name: str) -> str:
    size = "" if abs(weight) == 1 else f"{abs(weight):.4g}*"
    return f" {'-' if weight < 0 else '+'} {size}{name}"


def _count(n: int, one: str, many: str | None = None) -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"
