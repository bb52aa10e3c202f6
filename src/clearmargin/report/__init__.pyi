from .build import report as report
from .page import Report as Report

__all__ = ["Report", "report"]
