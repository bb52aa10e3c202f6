"""From text to rules: read the tree, look the names up, make the regions."""

from __future__ import annotations

from collections.abc import Iterable

from clearmargin.exceptions import InvalidValueError
from clearmargin.language.parser import parse_tree
from clearmargin.language.regions import make_region
from clearmargin.language.source import Source
from clearmargin.language.syntax import RuleNode
from clearmargin.language.vocabulary import Vocabulary, make_vocabulary
from clearmargin.rules.rule import Label, Rule, as_label
from clearmargin.rules.ruleset import RuleSet
from clearmargin.rules.space import FeatureSpace

__all__ = ["parse_rules"]


def parse_rules(
    text: str, space: FeatureSpace | None = None, classes: Iterable[Label] | None = None
) -> RuleSet:
    """Read rules written in the rule language.

    Parameters
    ----------
    text : str
        One rule a line, ``name: premise => class [weight 2]`` or ``if premise then class``; see the reference of
        the rule language.
    space : FeatureSpace, optional
        The features that may occur. Without it they are what the text declares or, if it declares none, what
        the rules speak about, in the order in which they appear.
    classes : iterable of labels, optional
        The classes that may occur; without it as declared or as they appear.

    Returns
    -------
    RuleSet
        The rules, in the order written.

    Raises
    ------
    RuleSyntaxError
        If the text cannot be understood; it says where and, if possible, what was meant.

    Examples
    --------
    >>> rules = parse_rules("obese: bmi >= 30 and glucose >= 126 => ill")
    >>> rules.space.names, rules.classes
    (('bmi', 'glucose'), ('ill',))
    >>> rules.covers([[31, 130], [31, 120]])[:, 0]
    array([ True, False])
    """
    if not isinstance(text, str):
        raise TypeError(f"rules are read from a text (str), not from {type(text).__name__}")
    if space is not None and not isinstance(space, FeatureSpace):
        raise TypeError(f"space must be a FeatureSpace or None, not {type(space).__name__}")
    if isinstance(classes, str):
        raise TypeError(f"classes must be a list of labels, not the single text {classes!r}")
    source = Source(text)
    labels = None if classes is None else tuple(as_label(label) for label in classes)
    tree = parse_tree(source, space, labels)
    words = make_vocabulary(source, tree, space, labels)
    rules = [_make_rule(node, words) for node in tree.rules]
    return RuleSet(rules, words.space, words.classes)


def _make_rule(node: RuleNode, words: Vocabulary) -> Rule:
    label = words.label(node.label)
    region = make_region(node, words)
    try:
        return Rule(region, label, name=node.name, weight=node.weight)
    except InvalidValueError as error:
        raise words.source.error(str(error), node.start, node.end) from error
