"""What model files hold of AutoSVC and of its encoder, and what must be true of loaded ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..files.kinds import FiniteArray, Labels, Strings, Words
from ..files.records import COUNT, FINITE, INPUT, NOT_NEGATIVE, ROOT, Fitted
from ..fitting.parameters import NONE, POSITIVE, Kind


def some_columns(letter: str) -> FiniteArray:
    return FiniteArray((letter,), ("int64",), least=0, below="d", increasing=True)


ENCODER = {
    **INPUT,
    "numeric_": (some_columns("N"),),
    "categorical_": (some_columns("K"),),
    "left_out_": (some_columns("O"),),
    "gaps_": (some_columns("G"),),
    **dict.fromkeys(("median_", "mean_"), (FiniteArray(("N",)),)),
    "scale_": (FiniteArray(("N",), least=ROOT),),
    "categories_": (Words(arrays=True),),
    "missing_": (FiniteArray(("d",), ("int64",), least=0),),
}
AUTO = {
    **INPUT,
    "classes_": (Labels("T"),),
    "encoder_": (Fitted(("ColumnEncoder",)),),
    "machine_": (Fitted(("JointSVC", "PairwiseSVC", "OneVsRestSVC", "CoreVectorSVC")),),
    "best_params_": (Kind("a dict", (dict,)),),
    "cv_score_": (NONE, FINITE),
    **{"temperature_": (POSITIVE,), "evidence_weight_": (NOT_NEGATIVE,), "margins_": (FiniteArray(("M",)),)},
    "explain_choices_": (Words(),),
    "feature_names_out_": (Strings("F"),),
    **{"fit_seconds_": (NOT_NEGATIVE,), "peak_memory_": (COUNT,)},
}


def check_encoder(model: Any) -> str | None:
    """Every column must be of one kind, and every column of words must have at least one word."""
    kinds = np.concatenate([model.numeric_, model.categorical_, model.left_out_])
    if len(kinds) != model.n_features_in_ or not np.array_equal(np.sort(kinds), np.arange(len(kinds))):
        return "columns of no kind or of two"
    known = np.isin(model.gaps_, model.numeric_).all() and len(model.categories_) == len(model.categorical_)
    return None if known else "gaps or words of columns that have none"


def check_auto(model: Any) -> str | None:
    """The encoder must produce what the machine reads."""
    made, names = len(model.encoder_.get_feature_names_out()), len(model.feature_names_out_)
    if model.encoder_.n_features_in_ != model.n_features_in_ or model.machine_.n_features_in_ != made or made != names:
        return "an encoder that does not fit the machine"
    named: list[Any] = [getattr(part, "feature_names_in_", None) for part in (model, model.encoder_)]
    if not np.array_equal(model.machine_.classes_, model.classes_) or not np.array_equal(*named):
        return "a machine with other classes, or an encoder with other names"
    fits = len(model.margins_) in (1, len(model.machine_.intercept_)) and np.all(model.margins_ > 0)
    return None if fits else "margins that do not fit the machine"
