from .advised import (
    AdviceOptions as AdviceOptions,
)
from .advised import (
    Advised as Advised,
)
from .advised import (
    CheckedRules as CheckedRules,
)
from .advised import (
    advise as advise,
)
from .advised import (
    check_rules as check_rules,
)
from .advised import (
    judge_advised as judge_advised,
)
from .advised import (
    rule_mistakes as rule_mistakes,
)
from .applied_rules import (
    ExportedRules as ExportedRules,
)
from .applied_rules import (
    Predictions as Predictions,
)
from .applied_rules import (
    export_rules as export_rules,
)
from .applied_rules import (
    load_rules as load_rules,
)
from .applied_rules import (
    predict_by_model as predict_by_model,
)
from .applied_rules import (
    predict_by_rules as predict_by_rules,
)
from .applied_rules import (
    predict_in_blocks as predict_in_blocks,
)
from .cards_and_trees import (
    GrownTree as GrownTree,
)
from .cards_and_trees import (
    Scored as Scored,
)
from .cards_and_trees import (
    grow_tree as grow_tree,
)
from .cards_and_trees import (
    score_table as score_table,
)
from .changes import (
    FoundChanges as FoundChanges,
)
from .changes import (
    find_changes as find_changes,
)
from .comparing import (
    Compared as Compared,
)
from .comparing import (
    compare_files as compare_files,
)
from .found_points import (
    FoundPoints as FoundPoints,
)
from .found_points import (
    find_points as find_points,
)
from .found_rules import (
    ExplainedCases as ExplainedCases,
)
from .found_rules import (
    ExtractOptions as ExtractOptions,
)
from .found_rules import (
    FoundRules as FoundRules,
)
from .found_rules import (
    choose_rows as choose_rows,
)
from .found_rules import (
    explain_cases as explain_cases,
)
from .found_rules import (
    find_rules as find_rules,
)
from .found_rules import (
    make_report as make_report,
)
from .machines import (
    train as train,
)
from .one_page import (
    OnePage as OnePage,
)
from .one_page import (
    PageBudget as PageBudget,
)
from .one_page import (
    make_one_page as make_one_page,
)
from .ranked import (
    Ranked as Ranked,
)
from .ranked import (
    rank_rows as rank_rows,
)
from .task import (
    Task as Task,
)
from .task import (
    make_task as make_task,
)
from .trained_models import (
    PlaneOptions as PlaneOptions,
)
from .trained_models import (
    Trained as Trained,
)
from .trained_models import (
    judge_on_unseen_rows as judge_on_unseen_rows,
)
from .trained_models import (
    load_for_task as load_for_task,
)
from .trained_models import (
    train_plane as train_plane,
)
from .weighted_rules import (
    ExplainedPoints as ExplainedPoints,
)
from .weighted_rules import (
    LoadedPoints as LoadedPoints,
)
from .weighted_rules import (
    explain_points_of_rows as explain_points_of_rows,
)
from .weighted_rules import (
    load_points_for_task as load_points_for_task,
)
from .weighted_rules import (
    load_rules_or_points as load_rules_or_points,
)
from .weighted_rules import (
    predict_by_points as predict_by_points,
)
from .weighted_rules import (
    report_points as report_points,
)

__all__ = [
    "AdviceOptions",
    "Advised",
    "CheckedRules",
    "Compared",
    "ExplainedCases",
    "ExplainedPoints",
    "ExportedRules",
    "ExtractOptions",
    "FoundChanges",
    "FoundPoints",
    "FoundRules",
    "GrownTree",
    "LoadedPoints",
    "OnePage",
    "PageBudget",
    "PlaneOptions",
    "Predictions",
    "Ranked",
    "Scored",
    "Task",
    "Trained",
    "advise",
    "check_rules",
    "choose_rows",
    "compare_files",
    "explain_cases",
    "explain_points_of_rows",
    "export_rules",
    "find_changes",
    "find_points",
    "find_rules",
    "grow_tree",
    "judge_advised",
    "judge_on_unseen_rows",
    "load_for_task",
    "load_points_for_task",
    "load_rules",
    "load_rules_or_points",
    "make_one_page",
    "make_report",
    "make_task",
    "predict_by_model",
    "predict_by_points",
    "predict_by_rules",
    "predict_in_blocks",
    "rank_rows",
    "report_points",
    "rule_mistakes",
    "score_table",
    "train",
    "train_plane",
]
