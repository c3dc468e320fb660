"""What model files hold of AutoSVC and of its encoder, and what must be true of loaded ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..files.dialects import readable
from ..files.kinds import FiniteArray, Labels, Strings, WordList
from ..files.records import COUNT, FINITE, INPUT, NOT_NEGATIVE, ROOT, Fitted
from ..fitting.parameters import NONE, POSITIVE, Kind
from .columns import COMPACT, LEFT_OUT
from .features import number_names

ENCODER = {
    **INPUT,
    "missing_": (FiniteArray(("d",), ("int64",), least=0),),
    **dict.fromkeys(("kinds_", "reasons_", "formats_"), (WordList(),)),
    "words_": (WordList(arrays=True),),
    "rest_": (FiniteArray(("P",), ("bool",)),),
    **dict.fromkeys(("median_", "mean_"), (FiniteArray(("N",)),)),
    "scale_": (FiniteArray(("N",), least=ROOT),),
    "gaps_": (FiniteArray(("G",), ("int64",), least=0, below="N", increasing=True),),
}
AUTO = {
    **INPUT,
    "classes_": (Labels("T"),),
    "encoder_": (Fitted(("ColumnEncoder",)),),
    "machine_": (Fitted(("JointSVC", "PairwiseSVC", "OneVsRestSVC", "CoreVectorSVC", "LandmarkSVC")),),
    "best_params_": (Kind("a dict", (dict,)),),
    "cv_score_": (NONE, FINITE),
    **{"temperature_": (POSITIVE,), "evidence_weight_": (NOT_NEGATIVE,), "margins_": (FiniteArray(("M",)),)},
    "explain_choices_": (WordList(),),
    "announced_seconds_": (NONE, NOT_NEGATIVE),
    "feature_names_out_": (Strings("F"),),
    **{"fit_seconds_": (NOT_NEGATIVE,), "peak_memory_": (COUNT,)},
}


def check_encoder(model: Any) -> str | None:
    """A plan for every column (none for a matrix), as many numbers as it states, and readable formats."""
    sizes = {len(part) for part in (model.kinds_, model.reasons_, model.formats_, model.words_, model.rest_)}
    if sizes not in ({0}, {model.n_features_in_}):
        return "a plan for other columns"
    if not set(model.kinds_) <= {"number", "category", "date", "text", LEFT_OUT}:
        return "columns of an unknown kind"
    if not all(form in ("", *COMPACT) or readable(form) for form in model.formats_):
        return "formats that cannot be read"
    numbers = len(number_names(model._plan())) if sizes != {0} else model.n_features_in_
    return None if len(model.median_) == numbers else "scales of other columns"


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
