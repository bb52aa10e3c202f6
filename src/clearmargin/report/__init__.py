"""Reports: what was learned, how good it is and what it leaves out, in one file that needs nothing else."""

from clearmargin.report.build import report
from clearmargin.report.document import Report

__all__ = ["Report", "report"]
