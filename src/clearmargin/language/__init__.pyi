from .printer import (
    format_rules as format_rules,
)
from .prose import (
    describe_rules as describe_rules,
)
from .resolve import (
    parse_rules as parse_rules,
)
from .table import (
    rules_frame as rules_frame,
)
from .table import (
    rules_html as rules_html,
)

__all__ = ["describe_rules", "format_rules", "parse_rules", "rules_frame", "rules_html"]
