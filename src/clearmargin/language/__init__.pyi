from .bound_editing import (
    edit_bound as edit_bound,
)
from .candidates import (
    Candidate as Candidate,
)
from .candidates import (
    complete as complete,
)
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
    Mistake as Mistake,
)
from .rule_text import (
    RuleText as RuleText,
)
from .rule_text import (
    Statement as Statement,
)
from .rule_text import (
    WrittenBound as WrittenBound,
)
from .rule_text import (
    WrittenCondition as WrittenCondition,
)
from .rule_text import (
    read_rule_text as read_rule_text,
)

__all__ = [
    "Candidate",
    "Mistake",
    "RuleText",
    "Statement",
    "WrittenBound",
    "WrittenCondition",
    "complete",
    "describe_rules",
    "edit_bound",
    "format_rules",
    "parse_rules",
    "read_rule_text",
    "rules_frame",
    "rules_html",
]
