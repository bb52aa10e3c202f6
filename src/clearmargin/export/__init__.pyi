from .formats import export as export
from .formats import to_json as to_json
from .python_source import to_python as to_python
from .readable import to_markdown as to_markdown
from .readable import to_text as to_text
from .sql import to_sql as to_sql

__all__ = [
    "export",
    "to_json",
    "to_markdown",
    "to_python",
    "to_sql",
    "to_text",
]
