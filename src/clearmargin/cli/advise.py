"""`clearmargin advise` trains on a table and an expert's rules."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from clearmargin.cli.console import Console, number_of
from clearmargin.cli.outputs import add_force, claim, writing
from clearmargin.cli.task import Task, add_task_arguments
from clearmargin.cli.train import positive_number
from clearmargin.cli.unseen import Recipe, add_split_arguments, inner_folds
from clearmargin.exceptions import DataError

if TYPE_CHECKING:
    from clearmargin.models import PlaneModel
    from clearmargin.rules import RuleSet

__all__ = ["add_arguments", "run"]

_REFINERS = ("translate", "slp", "sqp", "trust")
_COSTS = {
    "lam": "cost of a row on the wrong side (default: 1)",
    "mu": "cost of an error of a rule (default: 1)",
    "nu": "cost of changing a rule, relative to mu (default: 1)",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    add_task_arguments(parser)
    parser.add_argument(
        "--advice", required=True, metavar="FILE", help="the rules, as a .rules or .json file"
    )
    group = parser.add_argument_group("the training")
    group.add_argument(
        "--refine",
        choices=_REFINERS,
        help="let the data correct the rules (default: keep them); a rule is not moved where the plane gives its "
        "features no weight against it, and the output says so",
    )
    group.add_argument(
        "--published",
        action="store_true",
        help="refine by the published program: from the rules as given, free to lose all cases of their class",
    )
    for name, text in _COSTS.items():
        group.add_argument(f"--{name}", type=positive_number, help=text)
    group.add_argument("--tune", action="store_true", help="choose these costs by cross-validation")
    add_split_arguments(parser)
    parser.add_argument("--out", metavar="FILE", help="write the rules as they are in the end")
    parser.add_argument("--save-model", metavar="FILE", help="write the model to a .json file")
    add_force(parser)
    parser.epilog = (
        "example: clearmargin advise patients.csv --target outcome --advice expert.rules --refine sqp\n\n"
        "'clearmargin check expert.rules --data patients.csv --target outcome' looks at the rules before."
    )


def run(arguments: argparse.Namespace) -> None:
    """Train with the rules, and say what became of them."""
    from clearmargin.cli.export import load_rules
    from clearmargin.cli.listing import model_dict, print_model, share_right
    from clearmargin.cli.task import read_task
    from clearmargin.cli.train import claim_model, save

    console = Console.of(arguments)
    out = claim(arguments.out, arguments, [".rules", ".json"])
    model_file = claim_model(arguments)
    advice = load_rules(arguments.advice)  # what is wrong with it is said before the table is read
    task = read_task(arguments, console)
    task.insist_on_two_classes("advice")
    model, fitted = _train(task, arguments, quiet=console.quiet)
    recipe = Recipe.of_task(task, lambda part: _train(part, arguments, quiet=True)[0])
    unseen = recipe.unseen(console, progress=False if console.quiet else "auto")
    if unseen is not None:
        model.facts = {**(model.facts or {}), **unseen.facts()}
        _note_learned_advice(advice, console)
    console.say(task.summary)
    right = share_right(model, task)
    print_model(model, right, console)
    console.say()
    save(model, model_file, arguments, console)
    if out is not None:
        with writing(out):
            fitted.refined_.save(out, overwrite=arguments.force)
        console.wrote(f"The rules as they are now are in {out}.")
    console.result(
        str(fitted.outcome_),
        {
            **task.to_dict(),
            "model": model_dict(model, right),
            "outcome": [_outcome(rule) for rule in fitted.outcome_],
            "refined": fitted.refined_.to_dict(),
        },
    )


def _train(task: Task, arguments: argparse.Namespace, *, quiet: bool) -> tuple[PlaneModel, Any]:
    """Train with the rules; also give the fitted classifier itself."""
    from sklearn.pipeline import make_pipeline

    from clearmargin.cli.train import encoder
    from clearmargin.models import PlaneModel

    svm = _machine(arguments, task, quiet=quiet)
    encode = encoder(task, scale=False).set_output(transform="pandas")
    svm.groups = _category_columns(encode.fit(task.X))
    pipeline = make_pipeline(encode, svm).fit(task.X, task.y)
    fitted: Any = pipeline[-1]
    model = PlaneModel.from_estimator(
        pipeline,
        task.X,
        positive=task.positive,
        advice=(fitted.advice_, fitted.refined_),
        fill=task.fill,
        facts={"trained_by": type(fitted).__name__, "target": task.target, "rows": len(task.X)},
    )
    return model, fitted


def _note_learned_advice(advice: RuleSet, console: Console) -> None:
    """Say that rules which were learned may come from the rows that they are now judged on."""
    learned = sum(rule.origin != "expert" for rule in advice)
    if learned:
        console.note(
            f"{learned} of {number_of(len(advice), 'rule')} of the advice were learned from data. If that was this "
            "table, the figure on rows not trained on is too high: the folds train the model anew, not the rules"
        )


def _machine(arguments: argparse.Namespace, task: Task, *, quiet: bool) -> Any:
    from clearmargin.advice import AdviceSVC, AdviceSVCCV

    if arguments.published and arguments.refine is None:
        raise DataError("--published says how rules are refined; name a way, too: --refine sqp")
    costs = {name: getattr(arguments, name) for name in _COSTS}
    given = {name: cost for name, cost in costs.items() if cost is not None}
    if not arguments.tune:
        published = arguments.published
        return AdviceSVC(arguments.advice, refine=arguments.refine, published=published, **given)
    if given:
        raise DataError(f"--tune chooses the costs; leave out --{next(iter(given))}")
    folds = min(5, *task.counts.values())
    if folds < 2:
        raise DataError("--tune needs two rows of each class at least; leave it out")
    progress: Any = False if quiet else "auto"
    cv = inner_folds(task, folds)
    return AdviceSVCCV(
        arguments.advice,
        refine=arguments.refine,
        published=arguments.published,
        cv=cv,
        progress=progress,
    )


def _category_columns(encode: Any) -> dict[str, dict[str, str]]:
    """For each categorical feature, the 0/1 column of each category: worst cases have one category of each."""
    onehot = encode.named_transformers_["categories"]
    features = getattr(onehot, "feature_names_in_", ())  # none where the table has numbers alone
    return {
        str(feature): {str(kind): f"{feature}_{kind}" for kind in kinds}
        for feature, kinds in zip(features, getattr(onehot, "categories_", ()), strict=True)
    }


def _outcome(rule: Any) -> dict[str, Any]:
    return {
        "name": rule.before.name,
        "verdict": rule.verdict,
        "before": rule.text_before,
        "after": rule.text_after,
        "standing": rule.standing,
        "standing_text": rule.standing_text,
        "holds": rule.holds,
        "stuck": rule.stuck,
        "unmoved": rule.unmoved,
        "margin": rule.margin if math.isfinite(rule.margin) else None,
        "slack": rule.slack,
        "guarantee": rule.guarantee,
        "covered_before": None if rule.before.stats is None else rule.before.stats.covered,
        "covered_after": None if rule.after.stats is None else rule.after.stats.covered,
        "agreed_after": None if rule.after.stats is None else rule.after.stats.agreed,
        "text": str(rule),
    }
