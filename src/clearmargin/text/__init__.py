"""The rule language: rules as text that people write and read, with an exact inverse; sentences and tables."""

from clearmargin.text.printer import format_rules
from clearmargin.text.prose import describe_rules
from clearmargin.text.resolve import parse_rules
from clearmargin.text.table import rules_frame, rules_html

__all__ = ["describe_rules", "format_rules", "parse_rules", "rules_frame", "rules_html"]
