"""What a model file may hold of scikit-learn: pipelines and scalers."""

from __future__ import annotations

import itertools
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from ..fitting.parameters import BOOL, NONE, Kind, Number
from .kinds import FiniteArray, PipelineSteps, is_fitted
from .records import FINITE, INPUT, NAMES, ROOT, stored


def check_pipeline(model: Any) -> str | None:
    """Every step must be fitted, and read what the one before it makes."""
    model._validate_steps()
    steps = [step for _, step in model.steps if step not in (None, "passthrough")]
    if not all(map(is_fitted, steps)):
        return "steps that are not fitted"
    for step, after in itertools.pairwise(steps):
        made = getattr(step, "_n_features_out", step.n_features_in_)
        if made != after.n_features_in_:
            return "steps that do not go together"
    return None


class Range(Kind):
    """Two numbers."""

    def accepts(self, value: Any) -> bool:
        return super().accepts(value) and len(value) == 2 and all(map(FINITE.accepts, value)) and value[0] < value[1]


PER_FEATURE = FiniteArray(("d",), ("float32", "float64"))
SCALED = {
    **INPUT,
    "n_samples_seen_": (Number("a number >= 0", least=0), FiniteArray(("d",), ("int32", "int64", "float64"), least=0)),
    "scale_": (NONE, FiniteArray(("d",), ("float32", "float64"), least=ROOT)),
}
stored(
    {"steps": (PipelineSteps(),), "memory": (NONE,), "verbose": (BOOL,), "transform_input": (NONE,)},
    check=check_pipeline,
)(Pipeline)
stored(
    {"copy": (BOOL,), "with_mean": (BOOL,), "with_std": (BOOL,)},
    {**SCALED, "mean_": (NONE, PER_FEATURE), "var_": (NONE, PER_FEATURE)},
    NAMES,
)(StandardScaler)
stored(
    {"feature_range": (Range("two numbers, the smaller first", (tuple, list)),), "copy": (BOOL,), "clip": (BOOL,)},
    {**SCALED, **dict.fromkeys(("min_", "data_min_", "data_max_", "data_range_"), (PER_FEATURE,))},
    NAMES,
)(MinMaxScaler)
stored({"copy": (BOOL,), "clip": (BOOL,)}, {**SCALED, "max_abs_": (PER_FEATURE,)}, NAMES)(MaxAbsScaler)
