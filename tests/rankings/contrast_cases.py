"""What the axes and keys of displays of rankings say."""

from __future__ import annotations


def said(ax):
    return [text.get_text() for text in ax.texts]


def key_of(legend):
    return [text.get_text() for text in legend.get_texts()]


def names_in(ax):
    return [label.get_text().replace("\n", " ") for label in ax.get_yticklabels()]
