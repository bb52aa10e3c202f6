"""Linear classifiers: the 1-norm SVM, its choice of sparsity, and the proximal SVM."""

from clearmargin.linear.lpsvc import LPSVC
from clearmargin.linear.lpsvccv import LPSVCCV
from clearmargin.linear.proximal import ProximalSVC

__all__ = ["LPSVC", "LPSVCCV", "ProximalSVC"]
