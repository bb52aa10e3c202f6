"""Tokens to tree, one statement a line."""

from __future__ import annotations

from collections.abc import Iterable

from clearmargin.language.cursor import Cursor
from clearmargin.language.declarations import is_declaration, parse_classes, parse_feature
from clearmargin.language.lexer import KEYWORDS, scan_line
from clearmargin.language.plain import read_plain_rule
from clearmargin.language.premise import parse_premise
from clearmargin.language.sentences import KnownNames, is_sentence, sentence_tokens
from clearmargin.language.source import Source, shown
from clearmargin.language.syntax import ClassesNode, FeatureNode, RuleNode, Tree
from clearmargin.rules.rule import Label
from clearmargin.rules.space import FeatureSpace

__all__ = ["parse_tree"]

Statement = RuleNode | FeatureNode | ClassesNode


def parse_tree(
    source: Source, space: FeatureSpace | None = None, classes: Iterable[Label] | None = None
) -> Tree:
    """Read a whole text as a tree of what was written.

    Parameters
    ----------
    source : Source
        The text.
    space : FeatureSpace, optional
        The features that sentences may name as they are printed; by default those that the text declares.
    classes : iterable of labels, optional
        The classes, likewise.

    Returns
    -------
    Tree
        Rules and declarations; names are not looked up yet.

    Examples
    --------
    >>> tree = parse_tree(Source("obese: bmi >= 30 => ill [weight 2]"))
    >>> tree.rules[0].name, tree.rules[0].label.value, tree.rules[0].weight
    ('obese', 'ill', 2.0)
    """
    tree = Tree()
    declared: set[str] = set()
    sentences: list[tuple[int, int, int]] = []
    for start, end in source.lines():
        statement: Statement | None = read_plain_rule(source, start, end)
        if statement is None:
            if is_sentence(source, start, end):
                sentences.append((len(tree.rules) + len(sentences), start, end))
                continue
            statement = _parse_line(source, start, end)
        if statement is None:
            continue
        if isinstance(statement, RuleNode):
            tree.rules.append(statement)
        elif isinstance(statement, ClassesNode):
            if tree.classes is not None:
                raise source.error(
                    "the classes are declared twice", start=statement.start, end=statement.end
                )
            tree.classes = statement
        else:
            name = statement.name
            if name.text in declared:
                raise source.error("this feature is declared twice", name.start, name.end)
            declared.add(name.text)
            tree.features.append(statement)
    if sentences:
        _add_sentences(tree, source, sentences, space, classes)
    return tree


def _add_sentences(
    tree: Tree,
    source: Source,
    sentences: list[tuple[int, int, int]],
    space: FeatureSpace | None,
    classes: Iterable[Label] | None,
) -> None:
    """Read sentences last, when all declarations are known, and put each rule in its place."""
    if classes is None:
        classes = () if tree.classes is None else [node.value for node in tree.classes.labels]
    known = KnownNames.gather(space, tree.features, classes)
    for place, start, end in sentences:
        cursor = Cursor(source, sentence_tokens(source, start, end, known))
        tree.rules.insert(place, _parse_rule(cursor))


def _parse_line(source: Source, start: int, end: int) -> Statement | None:
    tokens = scan_line(source, start, end)
    if tokens[0].kind == "end":
        return None
    cursor = Cursor(source, tokens)
    if is_declaration(cursor, "feature"):
        return parse_feature(cursor)
    if is_declaration(cursor, "classes"):
        return parse_classes(cursor)
    return _parse_rule(cursor)


def _parse_rule(cursor: Cursor) -> RuleNode:
    start = cursor.token.start
    name = _parse_rule_name(cursor)
    conditions = parse_premise(cursor)
    cursor.take()
    if cursor.token.kind == "end":
        cursor.fail("no class after '=>'")
    is_negated = cursor.token.kind == "not"
    if is_negated:
        cursor.take()
    label = cursor.take_label()
    label.is_negated = is_negated
    weight = _parse_weight(cursor) if cursor.token.kind == "[" else 1.0
    if cursor.token.kind != "end":
        cursor.fail(_after_class(cursor))
    return RuleNode(name, conditions, label, weight, start, cursor.last_end)


def _parse_rule_name(cursor: Cursor) -> str | None:
    if cursor.following.kind != ":":
        return None
    kind = cursor.token.kind
    if kind not in {"name", "quoted"}:
        what = "the keyword " if kind in KEYWORDS else ""
        cursor.fail(
            f"expected the name of a rule, not {what}{shown(cursor.token.text)}; "
            "such a name goes into backquotes"
        )
    name = cursor.take_name("the name of a rule")
    cursor.take()
    return name.text


def _parse_weight(cursor: Cursor) -> float:
    cursor.take()
    if not cursor.is_word("weight"):
        cursor.fail(f"expected '[weight 2]' after the class, not {cursor.what_is_here()}")
    cursor.take()
    start = cursor.token.start
    weight = cursor.take_number()
    if weight <= 0:
        raise cursor.source.error("a weight must be more than 0", start, cursor.last_end)
    cursor.expect("]", "after the weight")
    return weight


def _after_class(cursor: Cursor) -> str:
    kind = cursor.token.kind
    if kind == "=>":
        return "a second '=>' in the same rule; 'at least' is written '>='"
    if kind in {"name", "number", "quoted"} and cursor.before.kind != "]":
        return f"unexpected {shown(cursor.token.text)}; a class with blanks goes into backquotes"
    return f"unexpected {shown(cursor.token.text)} after the rule"
