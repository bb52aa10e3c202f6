from .printer import (
    format_rules as format_rules,
)
from .prose import (
    describe_rules as describe_rules,
)
from .prose import (
    rules_frame as rules_frame,
)
from .prose import (
    rules_html as rules_html,
)
from .resolve import (
    parse_rules as parse_rules,
)
from .rule_text import (
    read_rule_text as read_rule_text,
)

__all__ = [
    "describe_rules",
    "format_rules",
    "parse_rules",
    "read_rule_text",
    "rules_frame",
    "rules_html",
]
