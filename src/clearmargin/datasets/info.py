"""What is known about each data set that clearmargin ships: columns, classes, origin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Feature:
    """One column of a data set."""

    name: str
    unit: str | None = None
    kind: Literal["real", "integer", "category"] = "real"


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """Everything about a shipped data set but its values."""

    name: str
    features: tuple[Feature, ...]
    column: str
    targets: Mapping[str, Mapping[str, str]]
    sha256: str
    citation: str
    licence: str

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, in the order of the columns."""
        return tuple(feature.name for feature in self.features)

    @property
    def filename(self) -> str:
        """Name of the CSV file."""
        return f"{self.name}.csv"


def _score(name: str) -> Feature:
    return Feature(name, None, "integer")


def _classes(*names: str) -> dict[str, dict[str, str]]:
    """Return the one target of a file that holds the names of the classes themselves."""
    return {"class": {name: name for name in names}}


# Recalled from the present pages of the UCI Machine Learning Repository, not checked again.
_UCI_LICENCE = "CC BY 4.0 (as the UCI Machine Learning Repository states)"

WBC = DatasetInfo(
    name="wbc",
    features=tuple(
        _score(name)
        for name in (
            "clump_thickness",
            "uniformity_of_cell_size",
            "uniformity_of_cell_shape",
            "marginal_adhesion",
            "single_epithelial_cell_size",
            "bare_nuclei",
            "bland_chromatin",
            "normal_nucleoli",
            "mitoses",
        )
    ),
    column="target",
    targets=_classes("benign", "malignant"),
    sha256="3cd4887e444ff1f838415fc64a06566422a2aaa9e1ea13c09bb5b04d4d572906",
    citation=(
        "W. H. Wolberg and O. L. Mangasarian, PNAS 87 (1990) 9193-9196; "
        "W. H. Wolberg, Breast Cancer Wisconsin (Original), UCI Machine Learning Repository, "
        "1992, doi 10.24432/C5HP4Z"
    ),
    licence=_UCI_LICENCE,
)

IONOSPHERE = DatasetInfo(
    name="ionosphere",
    features=tuple(
        # The first pulse takes the values 0 and 1 in its real part, 0 in its imaginary part.
        Feature(f"pulse{pulse:02d}_{part}", None, "integer" if pulse == 1 else "real")
        for pulse in range(1, 18)
        for part in ("real", "imag")
    ),
    column="target",
    targets=_classes("bad", "good"),
    sha256="865ca55463468a67a470657d2f964210c31acd409295374d132dc376576db80f",
    citation=(
        "V. G. Sigillito, S. P. Wing, L. V. Hutton and K. B. Baker, Johns Hopkins APL Technical "
        "Digest 10 (1989) 262-266; Ionosphere, UCI Machine Learning Repository, "
        "doi 10.24432/C5W01B"
    ),
    licence=_UCI_LICENCE,
)

CLEVELAND = DatasetInfo(
    name="cleveland",
    features=(
        Feature("age", "years", "integer"),
        _score("sex"),
        _score("cp"),
        Feature("trestbps", "mm Hg", "integer"),
        Feature("chol", "mg/dl", "integer"),
        _score("fbs"),
        _score("restecg"),
        Feature("thalach", "beats/min", "integer"),
        _score("exang"),
        Feature("oldpeak"),
        _score("slope"),
        _score("ca"),
        _score("thal"),
    ),
    column="num",
    targets={
        "fung": {
            "0": "num_le_1",
            "1": "num_le_1",
            "2": "num_ge_2",
            "3": "num_ge_2",
            "4": "num_ge_2",
        },
        "disease": {
            "0": "no_disease",
            "1": "disease",
            "2": "disease",
            "3": "disease",
            "4": "disease",
        },
    },
    sha256="e149e2f8edc1efe1daf3cd1bc719647c229249d8520081d97c77051a92286436",
    citation=(
        "R. Detrano et al., American Journal of Cardiology 64 (1989) 304-310; A. Janosi, "
        "W. Steinbrunn, M. Pfisterer and R. Detrano, Heart Disease, UCI Machine Learning "
        "Repository, 1988, doi 10.24432/C52P4X"
    ),
    licence=_UCI_LICENCE,
)

PIMA = DatasetInfo(
    name="pima",
    features=(
        _score("pregnancies"),
        Feature("glucose", "mg/dl", "integer"),
        Feature("blood_pressure", "mm Hg", "integer"),
        Feature("skin_thickness", "mm", "integer"),
        Feature("insulin", "uU/ml", "integer"),
        Feature("bmi", "kg/m^2"),
        Feature("diabetes_pedigree"),
        Feature("age", "years", "integer"),
    ),
    column="target",
    targets=_classes("tested_negative", "tested_positive"),
    sha256="c0b84590d5d440eca23616a6529d8470adddc37490566c291b6fc758c871c4ae",
    citation=(
        "J. W. Smith, J. E. Everhart, W. C. Dickson, W. C. Knowler and R. S. Johannes, "
        "Proc. Symposium on Computer Applications in Medical Care (1988) 261-265"
    ),
    licence=(
        "unclear: UCI withdrew the set over permissions; the original owner is the US National "
        "Institute of Diabetes and Digestive and Kidney Diseases; copies circulate as public domain"
    ),
)

SHIPPED: tuple[DatasetInfo, ...] = (WBC, IONOSPHERE, CLEVELAND, PIMA)
