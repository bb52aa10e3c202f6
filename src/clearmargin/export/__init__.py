"""Rules in the languages of other systems, each export equal to what the rules predict."""

from clearmargin.export.document import to_json
from clearmargin.export.formats import export
from clearmargin.export.outline import to_text
from clearmargin.export.pmml import to_pmml
from clearmargin.export.python_source import to_python
from clearmargin.export.spreadsheet import to_xlsx
from clearmargin.export.sql import to_sql
from clearmargin.export.table import to_latex, to_markdown

__all__ = [
    "export",
    "to_json",
    "to_latex",
    "to_markdown",
    "to_pmml",
    "to_python",
    "to_sql",
    "to_text",
    "to_xlsx",
]
