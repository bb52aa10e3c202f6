"""Rules over any number of features, as a table of intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from clearmargin.drawing.canvas import class_colours, figure_of, open_axes, require_matplotlib
from clearmargin.drawing.cells import (
    columns_of,
    interval_text,
    linear_texts,
    missing_text,
    shown_interval,
    stats_text,
)
from clearmargin.drawing.fitted import check_rules, fitted_rules
from clearmargin.drawing.rules_drawing import (
    Strokes,
    draw_head,
    draw_row_texts,
    draw_separators,
    write,
)
from clearmargin.drawing.rules_layout import LINE, Cells, Layout, lay_out
from clearmargin.exceptions import InvalidValueError
from clearmargin.language.prose import plain
from clearmargin.rules import Interval, Rule, RuleSet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["RulesDisplay", "plot_rules"]


class RulesDisplay:
    """A table of rules: a row for each rule, a column for each feature that occurs in one.

    A cell shows the interval of its feature over the range of that feature. A full dot is a bound that belongs to the
    rule, a hollow one a bound that does not, an arrow no bound. Numbers are rounded inwards, bars are exact. Of
    categories, those allowed are full squares.

    Parameters
    ----------
    rules : RuleSet
        All rules.
    shown : list of int
        Positions of those in the table.
    digits : int
        Significant digits of bounds.

    Attributes
    ----------
    columns : list of Column
        The features in the table, with their ranges.
    ax_, figure_
        Where it was drawn.
    layout_ : Layout
        Where everything stands, in inches; its `width` and `height` are what the table needs.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin import parse_rules
    >>> display = RulesDisplay.from_rules(parse_rules("age >= 50 and bmi < 30 => ill"))
    >>> [column.title for column in display.columns]
    ['age', 'bmi']
    """

    def __init__(self, *, rules: RuleSet, shown: list[int], digits: int = 3):
        self.rules = rules
        self.shown = shown
        self.digits = digits
        self.columns = columns_of(RuleSet([rules[k] for k in shown], rules.space, rules.classes))

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, max_rules: int = 15, digits: int = 3, ax: Axes | None = None
    ) -> Self:
        """Draw the rules of a fitted extractor.

        Parameters
        ----------
        estimator : RuleExtractor
            Fitted; or another estimator with `rules_`.
        max_rules : int, default 15
            Most rules in the table: those that cover most, in their order; the first ones where coverage is not known.
        digits : int, default 3
            Significant digits of bounds.
        ax : Axes, optional
            Where to draw; by default in a new figure of the size that the table needs.

        Returns
        -------
        RulesDisplay
            With what was drawn.
        """
        return cls.from_rules(fitted_rules(estimator), max_rules=max_rules, digits=digits, ax=ax)

    @classmethod
    def from_rules(
        cls, rules: RuleSet, *, max_rules: int = 15, digits: int = 3, ax: Axes | None = None
    ) -> Self:
        """Draw rules, whoever wrote them.

        Parameters
        ----------
        rules : RuleSet
            The rules.
        max_rules, digits, ax
            As for `from_estimator`.

        Returns
        -------
        RulesDisplay
            With what was drawn.
        """
        for name, count in (("max_rules", max_rules), ("digits", digits)):
            if isinstance(count, bool) or not isinstance(count, int) or count < 1:
                raise InvalidValueError(f"{name} must be a whole number from 1, not {count!r}")
        shown = _fullest(check_rules(rules), max_rules)
        return cls(rules=rules, shown=shown, digits=digits).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default in a new figure of the size that the table needs. Axes that are smaller crowd it.

        Returns
        -------
        RulesDisplay
            Itself, with `ax_`, `figure_` and `layout_`.
        """
        require_matplotlib()
        caption = self._caption()
        layout = lay_out(self.columns, self._cells(), bool(caption))
        own = ax is None
        axes = open_axes(ax, (layout.width, layout.height))
        self.ax_: Axes = axes
        self.figure_: Figure | SubFigure = figure_of(axes)
        self.layout_: Layout = layout
        if own:
            axes.set_position((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        axes.set_xlim(0.0, layout.width)
        axes.set_ylim(layout.height, 0.0)
        draw_head(axes, layout, self.columns)
        draw_separators(axes, layout, [self.rules[k].label for k in self.shown])
        strokes = Strokes()
        for row, k in enumerate(self.shown):
            self._draw_row(row, k, strokes)
        strokes.draw(axes)
        if caption:
            write(axes, layout.marks.left, layout.rows[-1] + 0.08 + LINE / 2, caption, alpha=0.65)
        return self

    def _cells(self) -> Cells:
        shown = [self.rules[k] for k in self.shown]
        return Cells(
            marks=[self._mark(k) for k in self.shown],
            texts=[[self._text(rule, c.feature) for rule in shown] for c in self.columns],
            linear=[linear_texts(self.rules, rule) for rule in shown],
            labels=[plain(rule.label) for rule in shown],
            stats=[stats_text(rule.stats) for rule in shown],
        )

    def _mark(self, k: int) -> str:
        name = self.rules[k].name
        return str(k + 1) if name is None else f"{k + 1}  {plain(name)}"

    def _text(self, rule: Rule, feature: int) -> str:
        interval = self._interval(rule, feature)
        if interval is None:
            return missing_text(rule, feature)
        # Whole numbers are said as they are.
        digits = None if self.rules.space.integer[feature] else self.digits
        return interval_text(interval, digits)

    def _caption(self) -> str:
        remarks = []
        if len(self.shown) < len(self.rules):
            counted = any(rule.stats is not None for rule in self.rules)
            which = "those that cover the most" if counted else "the first ones"
            remarks.append(f"{len(self.shown)} of {len(self.rules)} rules shown, {which}")
        if any(
            self._has_open_end(self.rules[k], c.feature) for k in self.shown for c in self.columns
        ):
            remarks.append("Hollow end: the bound itself is not in the rule")
        return ". ".join(remarks)

    def _interval(self, rule: Rule, feature: int) -> Interval | None:
        return shown_interval(rule, feature, integer=bool(self.rules.space.integer[feature]))

    def _has_open_end(self, rule: Rule, feature: int) -> bool:
        interval = self._interval(rule, feature)
        return interval is not None and interval.closed != "both"

    def _draw_row(self, row: int, k: int, strokes: Strokes) -> None:
        rule, layout = self.rules[k], self.layout_
        colour = class_colours(self.rules.classes)[rule.label]
        label, stats = plain(rule.label), stats_text(rule.stats)
        draw_row_texts(self.ax_, layout, row, self._mark(k), label, stats, colour)
        y = (layout.rows[row] + layout.rows[row + 1]) / 2
        for column, place in zip(self.columns, layout.columns, strict=True):
            j = column.feature
            if not column.kinds:
                strokes.add_track(place, y)
            interval = self._interval(rule, j)
            if j in rule.region.sets:
                codes = sorted(rule.region.sets[j])
                strokes.add_kinds(self.ax_, place, column, y, codes, colour)
            elif interval is not None:
                text = self._text(rule, j)
                strokes.add_interval(self.ax_, place, column, y, interval, text, colour)
            elif said := missing_text(rule, j):
                strokes.add_text(self.ax_, place, y, said)


def plot_rules(
    source: Any, *, max_rules: int = 15, digits: int = 3, ax: Axes | None = None
) -> RulesDisplay:
    """Draw a table of rules with their intervals as bars.

    Parameters
    ----------
    source : RuleExtractor or RuleSet
        A fitted extractor, or rules.
    max_rules, digits, ax
        As for `RulesDisplay.from_estimator`.

    Returns
    -------
    RulesDisplay
        With `ax_`, `figure_` and what was drawn.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin import parse_rules
    >>> plot_rules(parse_rules("age >= 50 => ill")).shown
    [0]
    """
    draw = RulesDisplay.from_rules if isinstance(source, RuleSet) else RulesDisplay.from_estimator
    return draw(source, max_rules=max_rules, digits=digits, ax=ax)


def _fullest(rules: RuleSet, max_rules: int) -> list[int]:
    """Positions of the rules that cover most rows, in their order; the first ones where nothing is known."""
    covered = [0 if rule.stats is None else rule.stats.covered for rule in rules]
    order = sorted(range(len(rules)), key=lambda k: -covered[k])
    return sorted(order[:max_rules])
