"""The private names that tests may use, at most ten: every other import of a test is public.

A seam takes arrays or values and gives arrays or values. Each says why no public call can stand in for it.
"""

# What a card with proof columns says where it proves nothing: the class that its model gives is an argument here.
from clearmargin.points.explanation import explain_points

# The project file of the workbench: its hash chain, its lock and its writes are promises that no page shows.
from clearmargin.workbench.project_file import ProjectFile

# What the editor of the workbench asks for at each key: the words that may come next, and a text with another bound.
from clearmargin.workbench.rule_editing import complete, edit_bound

__all__ = [
    "ProjectFile",
    "complete",
    "edit_bound",
    "explain_points",
    "make_app",
    "refined_premises",
]


# The application of the workbench: a server in the process of the tests, where the command starts one of its own.
# Imported where it is called, since it takes two seconds and processes that only write project files need none.
def make_app(*arguments):
    from clearmargin.workbench.routes import make_app

    return make_app(*arguments)


# The published refinement of premises given as rows, with the multipliers that it starts from: of several optimal ones
# no attribute of a fitted model says which they are, and the printed programs of a step depend on them.
def refined_premises(X, y, cost, rules, method, nu, turning, max_iter):
    import numpy as np

    from clearmargin.advice.advice_svm import AdviceProblem, Premises, solve_advice
    from clearmargin.advice.refine import Refinement, refine_advice

    signs, costs = (np.array([rule[k] for rule in rules]) for k in (2, 3))
    rows = [(D, d, moves) for D, d, _, _, moves in rules]
    problem = AdviceProblem(X, y, cost, Premises.stack(rows, signs, costs, X.shape[1]))
    found = refine_advice(Refinement(problem, nu, turning), method, max_iter, 1e-9, published=True)
    return solve_advice(problem).u, found.objectives


__all__ = ["ProjectFile", "make_app", "refined_premises"]
