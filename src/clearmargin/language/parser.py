"""Tokens to tree, one statement a line: rules, and declarations of features and classes.

`Cursor`, at the end, walks over the tokens of a line; `parse_premise` reads comparisons of sums, sets of categories and
missing values; `parse_feature` and `parse_classes` read declarations.
"""

from __future__ import annotations

import math
from typing import NoReturn

from clearmargin.language.lexer import (
    KEYWORDS,
    Source,
    Token,
    number_value,
    scan_line,
    shown,
    unquote,
)
from clearmargin.language.syntax import (
    Bound,
    Chain,
    ClassesNode,
    Condition,
    FeatureNode,
    LabelNode,
    Membership,
    Missing,
    Name,
    RuleNode,
    Sum,
    Tree,
)
from clearmargin.rules.rule import Label, as_label

_MIRRORED = {">=": "<=", ">": "<"}
_COMPARISONS = frozenset({"<=", "<", ">=", ">", "="})
_SIGNS = frozenset({"+", "-"})
_IN_SUMS = frozenset({"+", "-", "*"})


def parse_tree(source: Source) -> Tree:
    """Read a whole text as a tree of what was written."""
    tree, declared = Tree(), set[str]()
    mistakes = source.recovery.mistakes
    for start, end in source.lines():
        n_before = len(mistakes)
        with source.recovery:
            tokens = scan_line(source, start, end)
            n_scanned = len(mistakes)
            if tokens[0].kind != "end":
                with source.recovery:
                    _parse_line(source, tokens, tree, declared)
            if (
                n_scanned > n_before
            ):  # what follows from unreadable characters is no mistake of its own
                del mistakes[n_scanned:]
    return tree


def _parse_line(source: Source, tokens: list[Token], tree: Tree, declared: set[str]) -> None:
    cursor = Cursor(source, tokens)
    if is_declaration(cursor, "feature"):
        feature = parse_feature(cursor)
        name = feature.name
        if name.text in declared:
            raise source.at(name, "this feature is declared twice")
        declared.add(name.text)
        tree.features.append(feature)
    elif is_declaration(cursor, "classes"):
        classes = parse_classes(cursor)
        if tree.classes is not None:
            raise source.at(classes, "the classes are declared twice")
        tree.classes = classes
    else:
        tree.rules.append(_parse_rule(cursor))


def _parse_rule(cursor: Cursor) -> RuleNode:
    start = cursor.token.start
    name = _parse_rule_name(cursor)
    first = cursor.token.start
    conditions = parse_premise(cursor)
    premise = first, cursor.last_end
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
    return RuleNode(name, conditions, label, weight, start, cursor.last_end, premise)


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


def parse_premise(cursor: Cursor) -> list[Condition]:
    """Read conditions joined by ``and``, up to ``=>``, none for ``true``; after a mistake, from the next ``and`` on."""
    if cursor.token.kind == "=>":
        cursor.fail("nothing before '=>'; a rule without condition is written 'true => ...'")
    conditions: list[Condition] = []
    if cursor.token.kind == "true" and cursor.following.kind == "=>":
        cursor.take()
        return conditions
    while True:
        with cursor.source.recovery:
            conditions.append(_parse_condition(cursor))
            if cursor.token.kind not in {"and", "=>"}:
                fix = " and" if cursor.token.kind == "," else None
                cursor.fail(_after_condition(cursor), fix)
        while cursor.token.kind not in {"and", "=>", "end"}:
            cursor.take()
        if cursor.token.kind != "and":
            break
        cursor.take()
    if cursor.token.kind != "=>":  # only behind a mistake
        cursor.fail(_after_condition(cursor))
    return conditions


def _after_condition(cursor: Cursor) -> str:
    kind = cursor.token.kind
    if kind == "or":
        return "a premise has no 'or', so that it stays convex; write two rules"
    if kind == "end":
        return "no '=>' in this line; a rule reads 'premise => class'"
    if kind == ",":
        return "expected 'and' between conditions, not ','"
    return f"expected 'and' or '=>', not {cursor.what_is_here()}"


def _parse_condition(cursor: Cursor) -> Condition:
    if cursor.token.kind in {"name", "quoted"}:
        after = cursor.following
        if after.kind == "in":
            return _parse_membership(cursor)
        if after.kind == "name" and after.text.lower() == "is":
            return _parse_missing(cursor)
    sums = [_parse_sum(cursor)]
    signs: list[str] = []
    while cursor.token.kind in _COMPARISONS:
        if signs:
            _check_chain(cursor, signs[0])
        signs.append(cursor.take().kind)
        right = _parse_match(cursor) if signs[0] == "=" else _parse_sum(cursor)
        if not (sums[-1].terms or right.terms):
            raise cursor.source.error("no feature in this comparison", sums[-1].start, right.end)
        sums.append(right)
    if not signs or cursor.token.kind == "!=":
        cursor.fail(_no_comparison(cursor))
    return _as_condition(sums, signs)


def _as_condition(sums: list[Sum], signs: list[str]) -> Bound | Chain:
    start, end = sums[0].start, sums[-1].end
    if signs[0] in _MIRRORED:
        sums = sums[::-1]
        signs = [_MIRRORED[sign] for sign in reversed(signs)]
    holders = [k for k, side in enumerate(sums) if side.terms]
    feature = sums[holders[0]].name
    if len(holders) > 1 or feature is None:
        return Chain(tuple(sums), tuple(signs), start, end)
    k = holders[0]
    if signs[0] == "=":
        value, place = sums[1 - k].constant, (sums[1 - k].start, sums[1 - k].end)
        return Bound(feature, value, value, False, False, k == 0, start, end, place, place)
    below = sums[k - 1] if k > 0 else None
    above = sums[k + 1] if k < len(signs) else None
    return Bound(
        feature,
        -math.inf if below is None else below.constant,
        math.inf if above is None else above.constant,
        "<" in signs[:k],
        "<" in signs[k:],
        False,
        start,
        end,
        None if below is None else (below.start, below.end),
        None if above is None else (above.start, above.end),
    )


def _check_chain(cursor: Cursor, first: str) -> None:
    here = cursor.token.kind
    if "=" in {first, here}:
        cursor.fail("'=' cannot be part of a chain; join two conditions with 'and'")
    if (first in _MIRRORED) != (here in _MIRRORED):
        cursor.fail("a chain that goes both ways; join two conditions with 'and'")


def _no_comparison(cursor: Cursor) -> str:
    token = cursor.token
    if token.kind == "!=":
        return f"{shown(token.text)} is not convex; write two rules, one with '<' and one with '>'"
    if token.kind in {"name", "quoted", "number"}:
        return f"unexpected {shown(token.text)}; {_between_words(cursor)}"
    advice = "; 'at least' is written '>='" if token.kind == "=>" else ""
    return f"expected a comparison (<=, <, >=, > or =), not {cursor.what_is_here()}{advice}"


def _between_words(cursor: Cursor) -> str:
    before = cursor.before
    if before.kind == "number":
        return "a weight is written 2*x"
    if before.kind == "name" and cursor.token.kind == "name":
        return f"a name with blanks goes into backquotes: {_joined(before, cursor.token)}"
    return "two names or numbers need a sign between them"


def _joined(left: Token, right: Token) -> str:
    both = f"{left.text} {right.text}"
    return f"`{both}`" if len(both) < 60 else "`like this`"


def _parse_membership(cursor: Cursor) -> Membership:
    feature = cursor.take_name("a feature")
    cursor.take()
    if cursor.token.kind == "[":
        cursor.fail("a set is written {a, b}; for an interval write 3 <= x <= 5")
    if cursor.token.kind != "{":
        cursor.expect("{", "after 'in'")
    if cursor.following.kind == "}":
        cursor.take()
        cursor.fail("an empty set of categories covers nothing")
    members = _take_categories(cursor)
    return Membership(feature, members, feature.start, cursor.last_end)


def _parse_missing(cursor: Cursor) -> Missing:
    feature = cursor.take_name("a feature")
    cursor.take()
    is_missing = cursor.token.kind != "not"
    if not is_missing:
        cursor.take()
    if not cursor.is_word("missing"):
        cursor.fail(
            f"expected 'missing' or 'not missing' after 'is', not {cursor.what_is_here()}; "
            "a value is compared with '='"
        )
    cursor.take()
    return Missing(feature, is_missing, feature.start, cursor.last_end)


def _parse_match(cursor: Cursor) -> Sum:
    """Return the side after '=', where a category may be called true or false, or have an empty name."""
    token = cursor.token
    if token.kind in {"true", "false"}:
        cursor.take()
        name = Name(token.text, token.start, token.end)
    elif token.kind == "quoted" and cursor.following.kind not in _IN_SUMS:
        name = cursor.take_text("a category")
    else:
        return _parse_sum(cursor)
    return Sum(((1.0, name),), 0.0, name.start, name.end, name)


def _parse_sum(cursor: Cursor) -> Sum:
    start = cursor.token.start
    terms: list[tuple[float, Name]] = []
    constant = 0.0
    only: Name | None = None
    while True:
        weight = 1.0
        while cursor.token.kind in _SIGNS:
            weight = -weight if cursor.take().kind == "-" else weight
        number, name = _parse_term(cursor)
        if name is None:
            constant += weight * number
        else:
            terms.append((weight * number, name))
            only = name
        if cursor.token.kind not in _SIGNS:
            break
    end = cursor.last_end
    if not math.isfinite(constant):
        raise cursor.source.error("this sum is too large", start, end)
    if only is not None and (only.start, only.end) != (start, end):
        only = None
    return Sum(tuple(terms), constant, start, end, only)


def _parse_term(cursor: Cursor) -> tuple[float, Name | None]:
    """Parse one of ``2``, ``x``, ``2*x`` and ``x*2``."""
    start = cursor.token.start
    first = _take_operand(cursor)
    if cursor.token.kind != "*":
        return (first, None) if isinstance(first, float) else (1.0, first)
    cursor.take()
    second = _take_operand(cursor)
    if isinstance(first, float) and isinstance(second, Name):
        weight, name = first, second
    elif isinstance(first, Name) and isinstance(second, float):
        weight, name = second, first
    else:
        problem = (
            "a product of two features; only linear conditions can be written"
            if isinstance(first, Name)
            else "a product of two numbers; write the result"
        )
        raise cursor.source.error(problem, start, cursor.last_end)
    if cursor.token.kind == "*":
        cursor.fail("a term has one '*': a number times a feature")
    return weight, name


def _take_operand(cursor: Cursor) -> float | Name:
    token = cursor.token
    if token.kind == "number":
        return number_value(cursor.source, cursor.take())
    if token.kind == "name":
        cursor.take()
        return Name(token.text, token.start, token.end)
    if token.kind != "quoted":
        cursor.fail(_no_operand(cursor))
    return cursor.take_name("a feature")


def _no_operand(cursor: Cursor) -> str:
    token = cursor.token
    if token.kind == "not":
        return "a premise has no 'not'; turn the comparison around"
    if token.kind == "true":
        return "'true' stands alone before '=>'; as a name it is written `true`"
    if token.kind in KEYWORDS and token.kind != "and":
        return f"unexpected keyword {shown(token.text)}; as a name it is written `{token.text}`"
    if token.kind == "!=":
        return _no_comparison(cursor)
    return f"expected a feature or a number, not {cursor.what_is_here()}"


def is_declaration(cursor: Cursor, word: str) -> bool:
    """Tell whether a line is a declaration: it starts with this word and has no ``=>``."""
    return cursor.is_word(word) and all(token.kind != "=>" for token in cursor.tokens)


def parse_classes(cursor: Cursor) -> ClassesNode:
    """Read ``classes: benign, malignant``."""
    start = cursor.take().start
    cursor.expect(":", "after 'classes' (or '=>' if this is a rule)")
    labels = [cursor.take_label()]
    while cursor.token.kind == ",":
        cursor.take()
        labels.append(cursor.take_label())
    cursor.expect_end("write ',' between classes")
    seen = set()
    for label in labels:
        if label.value in seen:
            raise cursor.source.at(label, "this class is listed twice")
        seen.add(label.value)
    return ClassesNode(labels, start, cursor.last_end)


def parse_feature(cursor: Cursor) -> FeatureNode:
    """Read ``feature age: integer in [20, 80] unit years fill 35``."""
    start = cursor.take().start
    name = cursor.take_name("the name of a feature")
    node = FeatureNode(name, start, name.end)
    with cursor.source.recovery:  # a feature is known by its name, whatever is wrong behind it
        if cursor.token.kind != "end":
            cursor.expect(":", "after the name of the feature (or '=>' if this is a rule)")
            _parse_part(cursor, node)
        while cursor.token.kind != "end":
            _parse_part(cursor, node)
    node.end = cursor.last_end
    return node


def _parse_part(cursor: Cursor, node: FeatureNode) -> None:
    kind, following = cursor.token.kind, cursor.following.kind
    if cursor.is_word("integer"):
        _begin(cursor, node.is_integer)
        node.is_integer = True
    elif cursor.is_word("unit"):
        _begin(cursor, node.unit is not None)
        node.unit = cursor.take_name("a unit").text
    elif cursor.is_word("fill"):
        _begin(cursor, node.fill is not None)
        node.fill = cursor.take_category()
    elif kind == "in" and following == "[":
        _begin(cursor, node.lower is not None)
        _parse_range(cursor, node)
    elif kind == "in" and following == "{":
        _begin(cursor, node.categories is not None)
        categories: dict[str, Name] = {}
        for name in _take_categories(cursor):
            if name.text in categories:
                raise cursor.source.at(name, "this category is listed twice")
            categories[name.text] = name
        node.categories = list(categories.values())
    else:
        cursor.fail(
            "expected 'integer', 'in [low, high]', 'in {a, b}', 'unit ...' or 'fill ...', "
            f"not {cursor.what_is_here()}"
        )


def _begin(cursor: Cursor, is_known: bool) -> None:
    """Take the first word of a part of a declaration, which has each part once."""
    if is_known:
        cursor.fail("this was said before in the same line")
    cursor.take()


def _parse_range(cursor: Cursor, node: FeatureNode) -> None:
    start = cursor.take().start
    lower = _take_bound(cursor)
    cursor.expect(",", "between the bounds")
    upper = _take_bound(cursor)
    cursor.expect("]", "after the bounds")
    if lower > upper or lower == math.inf or upper == -math.inf:
        raise cursor.source.error("this range is empty", start, cursor.last_end)
    # Not before: a text is read on behind a mistake.
    node.lower, node.upper = lower, upper


def _take_bound(cursor: Cursor) -> float:
    """Take a number or, here alone, infinity."""
    sign = -1.0 if cursor.token.kind == "-" else 1.0
    is_signed = cursor.token.kind in {"+", "-"}
    word = cursor.following if is_signed else cursor.token
    if word.kind != "name" or word.text.lower() != "inf":
        return cursor.take_number()
    if is_signed:
        cursor.take()
    cursor.take()
    return sign * math.inf


def _take_categories(cursor: Cursor) -> list[Name]:
    """Take categories in braces."""
    cursor.take()
    names = [cursor.take_category()]
    while cursor.token.kind == ",":
        cursor.take()
        names.append(cursor.take_category())
    cursor.expect("}", "after the categories")
    return names


class Cursor:
    """Walks over the tokens of a line; `token` is the next one, not yet taken."""

    __slots__ = ("_at", "source", "token", "tokens")

    def __init__(self, source: Source, tokens: list[Token]):
        self.source = source
        self.tokens = [*tokens, tokens[-1]]  # there is always a token after the next one
        self.token = tokens[0]
        self._at = 0

    def take(self) -> Token:
        """Take the next token, which must not be the end of the line."""
        token = self.token
        self._at += 1
        self.token = self.tokens[self._at]
        return token

    @property
    def following(self) -> Token:
        """The token after the next one."""
        return self.tokens[self._at + 1]

    @property
    def before(self) -> Token:
        """The token taken last."""
        return self.tokens[max(self._at - 1, 0)]

    @property
    def last_end(self) -> int:
        """Offset just after the token taken last."""
        return self.before.end

    def expect(self, kind: str, purpose: str) -> Token:
        """Take a token of this kind, or say what it is missing for."""
        if self.token.kind != kind:
            self.fail(f"expected '{kind}' {purpose}, not {self.what_is_here()}")
        return self.take()

    def expect_end(self, advice: str) -> None:
        """Make sure that the line ends here."""
        if self.token.kind != "end":
            self.fail(f"unexpected {shown(self.token.text)}; {advice}")

    def fail(self, problem: str, fix: str | None = None) -> NoReturn:
        """Raise an error that points at the next token, and may say what it should be."""
        raise self.source.at(self.token, problem, fix)

    def what_is_here(self) -> str:
        """Name the next token for a message."""
        return "the end of the line" if self.token.kind == "end" else shown(self.token.text)

    def is_word(self, word: str) -> bool:
        """Tell whether the next token is this word, which is no keyword elsewhere."""
        return self.token.kind == "name" and self.token.text.lower() == word

    def take_name(self, role: str) -> Name:
        """Take a name, bare or in backquotes, that must not be empty."""
        name = self.take_text(role)
        if not name.text:
            raise self.source.at(name, f"{role} must not be empty")
        return name

    def take_text(self, role: str) -> Name:
        """Take a name, bare or in backquotes, that may be empty."""
        token = self.token
        if token.kind == "quoted":
            text = unquote(self.source, token)
        elif token.kind == "name":
            text = token.text
        elif token.kind in KEYWORDS:
            self.fail(
                f"expected {role}, not the keyword {shown(token.text)}; "
                f"as a name it is written `{token.text}`",
                f"`{token.text}`",
            )
        else:
            self.fail(f"expected {role}, not {self.what_is_here()}")
        self.take()
        return Name(text, token.start, token.end)

    def take_category(self) -> Name:
        """Take a category: a text, or a number or truth value that is kept as it is spelled."""
        token = self.token
        if token.kind in {"true", "false"}:
            self.take()
            return Name(token.text, token.start, token.end)
        if token.kind not in {"number", "+", "-"}:
            return self.take_text("a category")
        sign = "" if token.kind == "number" else self.take().text
        if self.token.kind != "number":
            self.fail(f"expected a number after the sign, not {self.what_is_here()}")
        digits = self.take()
        return Name(sign + digits.text, token.start, digits.end, is_number=True)

    def take_number(self) -> float:
        """Take a number with or without a sign."""
        sign = -1.0 if self.token.kind == "-" else 1.0
        if self.token.kind in {"+", "-"}:
            self.take()
        if self.token.kind != "number":
            self.fail(f"expected a number, not {self.what_is_here()}")
        return sign * number_value(self.source, self.take())

    def take_label(self) -> LabelNode:
        """Take a class: a text, a number or a truth value."""
        start = self.token.start
        value: Label
        if self.token.kind in {"true", "false"}:
            value = self.take().kind == "true"
        elif self.token.kind in {"number", "+", "-"}:
            value = self._take_numeric_label()
        else:
            value = self.take_name("a class").text
        return LabelNode(value, start, self.last_end)

    def _take_numeric_label(self) -> Label:
        number = self.following if self.token.kind in {"+", "-"} else self.token
        if number.kind != "number" or not number.text.isdigit():
            return self.take_number()
        sign = -1 if self.token.kind == "-" else 1
        while self.token.kind in {"+", "-"}:
            self.take()
        try:
            return as_label(sign * int(self.take().text))
        except ValueError:  # Python reads no more than some thousand digits, and a label has fewer
            raise self.source.at(number, "this class has too many digits") from None
