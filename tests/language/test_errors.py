"""One line a case: text, where the error points, and what it says."""

from __future__ import annotations

import pickle

import pytest

from clearmargin.exceptions import RuleSyntaxError
from clearmargin.language import parse_rules
from clearmargin.rules import FeatureSpace

# Text, the part that the carets underline ("" for the place after the end), what the message says.
CASES = [
    # the shape of a rule
    ("=> a", "=>", "nothing before '=>'; a rule without condition is written 'true => ...'"),
    ("x > 3", "", "no '=>' in this line; a rule reads 'premise => class'"),
    ("x > 3 =>  # c", "", "no class after '=>'"),
    ("x > 3 => at risk", "risk", "unexpected 'risk'; a class with blanks goes into backquotes"),
    (
        "x => 3 => a",
        "=>",
        "expected a comparison (<=, <, >=, > or =), not '=>'; 'at least' is written '>='",
    ),
    ("x > 3 => 3 => a", "=> a"[:2], "a second '=>' in the same rule; 'at least' is written '>='"),
    ("x > 3 -> a", "->", "unexpected '->'; write '=>' before the class"),
    ("x > 3 ⇒ a", "⇒", "unexpected '⇒'; write '=>' before the class"),
    (
        "x > 3 => and",
        "and",
        "expected a class, not the keyword 'and'; as a name it is written `and`",
    ),
    ("x > 3 => [weight 2]", "[", "expected a class, not '['"),
    ("x > 3 => ``", "``", "a class must not be empty"),
    ("x > 3 => 1e999", "1e999", "this number is too large"),
    ("x > 3 => a ]", "]", "unexpected ']' after the rule"),
    ("x > 3 => a; y > 2 => b", ";", "unexpected ';'; write one rule a line"),
    (
        "in: x > 3 => a",
        "in",
        "expected the name of a rule, not the keyword 'in'; such a name goes into backquotes",
    ),
    (
        "1: x > 3 => a",
        "1",
        "expected the name of a rule, not '1'; such a name goes into backquotes",
    ),
    ("``: x > 3 => a", "``", "the name of a rule must not be empty"),
    (": x > 3 => a", ":", "expected a feature or a number, not ':'"),
    # weights
    ("x > 3 => a [weight 0]", "0", "a weight must be more than 0"),
    ("x > 3 => a [weight -1]", "-1", "a weight must be more than 0"),
    ("x > 3 => a [wight 2]", "wight", "expected '[weight 2]' after the class, not 'wight'"),
    ("x > 3 => a [weight 2", "", "expected ']' after the weight, not the end of the line"),
    ("x > 3 => a [weight b]", "b", "expected a number, not 'b'"),
    # premises
    (
        "x > 3 or y > 2 => a",
        "or",
        "a premise has no 'or', so that it stays convex; write two rules",
    ),
    ("x > 3 || y > 2 => a", "||", "unexpected '||'; a premise has no 'or'; write two rules"),
    ("x > 3 && y > 2 => a", "&&", "unexpected '&&'; write 'and' between conditions"),
    ("x > 3, y > 2 => a", ",", "expected 'and' between conditions, not ','"),
    ("x > 3 y > 2 => a", "y", "expected 'and' or '=>', not 'y'"),
    ("x > 3 and => a", "=>", "expected a feature or a number, not '=>'"),
    ("not x > 3 => a", "not", "a premise has no 'not'; turn the comparison around"),
    (
        "true and x > 3 => a",
        "true",
        "'true' stands alone before '=>'; as a name it is written `true`",
    ),
    ("x > false => a", "false", "unexpected keyword 'false'; as a name it is written `false`"),
    # comparisons
    (
        "x => a",
        "=>",
        "expected a comparison (<=, <, >=, > or =), not '=>'; 'at least' is written '>='",
    ),
    ("x != 3 => a", "!=", "'!=' is not convex; write two rules, one with '<' and one with '>'"),
    ("x <> 3 => a", "<>", "'<>' is not convex; write two rules, one with '<' and one with '>'"),
    ("3 < x ≠ 5 => a", "≠", "'≠' is not convex; write two rules, one with '<' and one with '>'"),
    ("!= 3 => a", "!=", "'!=' is not convex; write two rules, one with '<' and one with '>'"),
    ("3 <= x >= 2 => a", ">=", "a chain that goes both ways; join two conditions with 'and'"),
    ("3 = x = 4 => a", "= 4"[:1], "'=' cannot be part of a chain; join two conditions with 'and'"),
    ("1 < x = 4 => a", "=", "'=' cannot be part of a chain; join two conditions with 'and'"),
    ("3 < 4 => a", "3 < 4", "no feature in this comparison"),
    ("1 < 2 < x => a", "1 < 2", "no feature in this comparison"),
    ("x =< 3 => a", "=<", "unexpected '=<'; write '<='"),
    ("x >  => a", "=>", "expected a feature or a number, not '=>'"),
    (
        "x > 3 and x < 3 => a",
        "x < 3",
        "no value of 'x' is left: the conditions contradict each other",
    ),
    (
        "5 <= x <= 4 => a",
        "5 <= x <= 4",
        "no value of 'x' is left: the conditions contradict each other",
    ),
    (
        "x = 3 and x = 4 => a",
        "x = 4",
        "no value of 'x' is left: the conditions contradict each other",
    ),
    # sums
    (
        "x - x <= 3 => a",
        "x - x <= 3",
        "no feature is left in this comparison: the weights cancel out",
    ),
    ("0*x <= 3 => a", "0*x <= 3", "no feature is left in this comparison: the weights cancel out"),
    ("x*y <= 3 => a", "x*y", "a product of two features; only linear conditions can be written"),
    ("2*3 <= x => a", "2*3", "a product of two numbers; write the result"),
    ("2*x*3 <= 3 => a", "*3"[:1], "a term has one '*': a number times a feature"),
    ("2 x > 3 => a", "x", "unexpected 'x'; a weight is written 2*x"),
    (
        "worst area < 880 => a",
        "area",
        "unexpected 'area'; a name with blanks goes into backquotes: `worst area`",
    ),
    (
        "`a` `b` < 880 => a",
        "`b`",
        "unexpected '`b`'; two names or numbers need a sign between them",
    ),
    ("(x) > 3 => a", "(", "unexpected '('; there are no parentheses; write the sum out"),
    ("x/2 > 3 => a", "/", "unexpected '/'; write 0.5*x for half of x"),
    ("x**2 > 3 => a", "**", "unexpected '**'; only sums of features times numbers can be compared"),
    (
        "1e308*x + 1e308*x <= 3 => a",
        "1e308*x + 1e308*x <= 3",
        "the numbers of this comparison are too large",
    ),
    ("x > 1e308 + 1e308 => a", "1e308 + 1e308", "this sum is too large"),
    # numbers and names
    ("x > 1e999 => a", "1e999", "this number is too large"),
    ("x > 1e-999 => a", "1e-999", "this number is too small to differ from 0"),
    (
        "x > 1_000 => a",
        "1_000",
        "'1_000' is neither a number nor a name; a name that is not a plain word goes into backquotes",
    ),
    (
        "x > 1.2.3 => a",
        "1.2.3",
        "'1.2.3' is neither a number nor a name; a name that is not a plain word goes into backquotes",
    ),
    ('x < "3" => a', '"', "unexpected '\"'; a name that is not a plain word goes into backquotes"),
    ("x ! 3 => a", "!", "unexpected character '!'"),
    ("`abc > 3 => a", "`", "this backquote is not closed on the same line"),
    (
        "`a\\qb` > 3 => a",
        "\\q",
        r"unknown escape \q; known are \\, \`, \n, \r, \t, \uXXXX and \UXXXXXXXX",
    ),
    (
        "`\\u12` > 3 => a",
        "\\u",
        r"unknown escape \u; known are \\, \`, \n, \r, \t, \uXXXX and \UXXXXXXXX",
    ),
    (
        "`\\U00110000` > 3 => a",
        "\\U00110000",
        r"unknown escape \U00110000; known are \\, \`, \n, \r, \t, \uXXXX and \UXXXXXXXX",
    ),
    ("`` > 3 => a", "``", "a feature must not be empty"),
    # categories
    ("c in {} => a", "}", "an empty set of categories covers nothing"),
    ("c in [3, 4] => a", "[", "a set is written {a, b}; for an interval write 3 <= x <= 5"),
    ("c in red => a", "red", "expected '{' after 'in', not 'red'"),
    ("c in {a, b => a", "=>", "expected '}' after the categories, not '=>'"),
    ("c in {a,} => a", "}", "expected a category, not '}'"),
    ("c in {-a} => a", "a", "expected a number after the sign, not 'a'"),
    (
        "c in {and} => a",
        "and",
        "expected a category, not the keyword 'and'; as a name it is written `and`",
    ),
    ("c in {1} => a", "1", "a number is no category; as a name it is written `1`"),
    (
        "c = red and c = blue => a",
        "c = blue",
        "no category of 'c' is left: this contradicts an earlier condition",
    ),
    (
        "c = red and c > 3 => a",
        "red",
        "'c' is a number elsewhere, and 'red' is neither a number nor a feature",
    ),
    ("c in {red} and c > 3 => a", "c >"[:1], "'c' is compared as a number and also has categories"),
    (
        "c > 3 and c in {red} => a",
        "c in"[:1],
        "'c' is compared as a number and also has categories",
    ),
    # the other class
    (
        "x > 3 => not a",
        "a",
        "'not' needs exactly two classes, but only 'a' is known; declare them with 'classes: ...'",
    ),
    # declarations
    (
        "classes",
        "",
        "expected ':' after 'classes' (or '=>' if this is a rule), not the end of the line",
    ),
    ("classes:", "", "expected a class, not the end of the line"),
    ("classes: a, a", "a", "this class is listed twice"),
    (f"classes: a, {2**1000}", str(2**1000), "this class has too many digits"),
    ("classes: 1, true", "true", "this class is listed twice"),
    ("classes: a b", "b", "unexpected 'b'; write ',' between classes"),
    ("feature", "", "expected the name of a feature, not the end of the line"),
    (
        "feature x:",
        "",
        "expected 'integer', 'in [low, high]', 'in {a, b}', 'unit ...' or 'fill ...', not the end of the line",
    ),
    (
        "feature x: real",
        "real",
        "expected 'integer', 'in [low, high]', 'in {a, b}', 'unit ...' or 'fill ...', not 'real'",
    ),
    (
        "feature x y",
        "y",
        "expected ':' after the name of the feature (or '=>' if this is a rule), not 'y'",
    ),
    ("feature x: integer integer", "integer", "this was said before in the same line"),
    ("feature x: in [3, 2]", "[3, 2]", "this range is empty"),
    ("feature x: in [inf, inf]", "[inf, inf]", "this range is empty"),
    ("feature x: in [1, 2", "", "expected ']' after the bounds, not the end of the line"),
    ("feature x: in {a, b, a}", "a", "this category is listed twice"),
    ("feature x: unit ``", "``", "a unit must not be empty"),
    ("feature x: fill red", "red", "a missing 'x' counts as a number, not as 'red'"),
    ("feature x: fill 1e999", "1e999", "a missing 'x' counts as a number, not as '1e999'"),
    (
        "feature x: in {red, blue} fill ret",
        "ret",
        "unknown category 'ret' of 'x'; did you mean 'red'?",
    ),
    ("feature x: fill 1 fill 2", "fill", "this was said before in the same line"),
    # missing values
    (
        "x is 3 => a",
        "3",
        "expected 'missing' or 'not missing' after 'is', not '3'; a value is compared with '='",
    ),
    (
        "x is not => a",
        "=>",
        "expected 'missing' or 'not missing' after 'is', not '=>'; a value is compared with '='",
    ),
    (
        "x is missing and x <= 3 => a",
        "x is missing",
        "no value of 'x' is left: the conditions contradict each other",
    ),
    (
        "x + y < 3 and y is missing => a",
        "y is missing",
        "no value of 'y' is left: the conditions contradict each other",
    ),
    (
        "c = red and c is missing => a",
        "c is missing",
        "no value of 'c' is left: the conditions contradict each other",
    ),
    (
        "x is missing and x is not missing => a",
        "x is not missing",
        "no value of 'x' is left: the conditions contradict each other",
    ),
]


def test_what_is_filled_is_never_missing():
    text = "feature x: fill 3\nx is missing => a"
    with pytest.raises(
        RuleSyntaxError, match=r"a missing 'x' counts as 3\.0 here, so that it never"
    ):
        parse_rules(text)


def test_words_of_missing_values_may_also_be_names():
    rules = parse_rules("is is missing and missing is not missing and fill > 3 => missing")
    assert rules.space.names == ("is", "missing", "fill")
    assert (rules[0].region.missing, rules[0].region.known) == ((0,), (1,))
    later = parse_rules("c is missing => a\nc = red => b\nx is missing => a\nx > 3 => b")
    assert later.space.categories == (("red",), None)


@pytest.mark.parametrize(("line", "part", "message"), CASES, ids=[case[0] for case in CASES])
def test_an_error_points_at_the_place_and_says_what_is_wrong(line, part, message):
    text = f"# first\r\nu > 0 => a\r{line}\n"
    with pytest.raises(RuleSyntaxError, match=r"^line 3, column ") as caught:
        parse_rules(text)
    error = caught.value
    assert error.problem == message
    assert (error.line, error.source) == (3, line)
    if part:
        assert line[error.column - 1 : error.column - 1 + error.length] == part
    else:
        code = line.partition("#")[0].rstrip()
        assert (error.column, error.length) == (len(code) + 1, 1)


SPACE = FeatureSpace(["age", "glucose", "colour"], categories={"colour": ["red", "dark red", "5"]})
CLASSES = ["healthy", "diabetes"]

UNKNOWN = [
    ("glucos > 3 => healthy", "glucos", "unknown feature 'glucos'; did you mean 'glucose'?"),
    ("2*Age + glucose > 3 => healthy", "Age", "unknown feature 'Age'; did you mean 'age'?"),
    ("zzz > 3 => healthy", "zzz", "unknown feature 'zzz'; known are 'age', 'glucose', 'colour'"),
    ("age > 3 => diabtes", "diabtes", "unknown class 'diabtes'; did you mean 'diabetes'?"),
    ("age > 3 => not diabtes", "diabtes", "unknown class 'diabtes'; did you mean 'diabetes'?"),
    ("colour = rod => healthy", "rod", "unknown category 'rod' of 'colour'; did you mean 'red'?"),
    (
        "colour in {red, darkred} => healthy",
        "darkred",
        "unknown category 'darkred' of 'colour'; did you mean 'dark red'?",
    ),
    (
        "colour = 6 => healthy",
        "6",
        "unknown category '6' of 'colour'; known are 'red', 'dark red', '5'",
    ),
    (
        "colour >= 5 => healthy",
        "colour",
        "'colour' has categories; compare it with '=' or 'in {...}'",
    ),
    (
        "age + colour = 5 => healthy",
        "colour",
        "'colour' has categories; compare it with '=' or 'in {...}'",
    ),
    (
        "5 = colour => healthy",
        "colour",
        "'colour' has categories; compare it with '=' or 'in {...}'",
    ),
    ("age in {red} => healthy", "age", "'age' is a number and has no categories"),
    ("age = glucos => healthy", "glucos", "unknown feature 'glucos'; did you mean 'glucose'?"),
    ("feature bmi", "bmi", "unknown feature 'bmi'; known are 'age', 'glucose', 'colour'"),
    ("classes: healthy, diabtes", "diabtes", "unknown class 'diabtes'; did you mean 'diabetes'?"),
]


@pytest.mark.parametrize(("line", "part", "message"), UNKNOWN, ids=[case[0] for case in UNKNOWN])
def test_an_unknown_name_is_an_error_with_the_nearest_one(line, part, message):
    with pytest.raises(RuleSyntaxError, match=r"^line 1, column ") as caught:
        parse_rules(line, space=SPACE, classes=CLASSES)
    error = caught.value
    assert error.problem == message
    assert line[error.column - 1 : error.column - 1 + error.length] == part


def test_a_feature_that_is_not_declared_is_an_error_if_others_are():
    with pytest.raises(
        RuleSyntaxError, match="line 2, column 1: unknown feature 'ag'; did you mean 'age'"
    ):
        parse_rules("feature age\nag > 3 => a")


def test_a_class_that_is_not_declared_is_an_error_if_others_are():
    with pytest.raises(
        RuleSyntaxError, match="line 1, column 10: unknown class 'b'; known are 'a'"
    ):
        parse_rules("x > 3 => b\nclasses: a")


@pytest.mark.parametrize(
    ("classes", "said", "message"),
    [
        (["1", "2"], "1", "unknown class 1; as a text it is written `1`"),
        ([1, 2], "`1`", "unknown class '1'; as a number it is written 1"),
    ],
)
def test_a_number_and_a_text_are_different_classes(classes, said, message):
    with pytest.raises(RuleSyntaxError, match="unknown class") as caught:
        parse_rules(f"x > 3 => {said}", classes=classes)
    assert caught.value.problem == message


def test_not_needs_exactly_two_classes():
    text = "x > 1 => a\nx > 2 => b\nx > 3 => c\nx > 4 => not a"
    with pytest.raises(
        RuleSyntaxError, match="'not' needs exactly two classes, but 3 are known: 'a', 'b', 'c'"
    ):
        parse_rules(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("classes: a\nclasses: b", "line 2, column 1: the classes are declared twice"),
        ("feature x\nfeature y\nfeature `x`", "line 3, column 9: this feature is declared twice"),
    ],
)
def test_nothing_is_declared_twice(text, message):
    with pytest.raises(RuleSyntaxError, match=message):
        parse_rules(text)


def test_what_is_said_of_a_lone_surrogate_can_be_printed():
    with pytest.raises(RuleSyntaxError, match="line 1, column 2: unexpected character") as caught:
        parse_rules("a\ud800b <= 3 => x")
    text = str(caught.value)
    assert text.encode("utf-8")
    assert text.endswith("\n  a\ufffdb <= 3 => x\n   ^")


def test_an_error_of_syntax_can_be_pickled_and_put_into_a_file():
    with pytest.raises(RuleSyntaxError) as caught:
        parse_rules("\tbmy >> 30 => ill")
    error = caught.value
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.line, again.column) == (str(error), error.line, error.column)
    assert str(error).split("\n")[1:] == ["  \tbmy >> 30 => ill", "  \t     ^"]
    assert str(error.in_file("a.rules")) == f"a.rules, {error}"
    assert str(RuleSyntaxError("no rules", line=2, column=1)) == "line 2, column 1: no rules"
