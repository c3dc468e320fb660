"""What a fitted model gives as ONNX operators: a function per kind of model, and per step before it in a pipeline."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from ..auto.classifier import AutoSVC
from ..auto.tables import ColumnEncoder
from ..fitting.parameters import quoted
from ..manifold.isomap import SupervisedIsomap
from ..smoothing.grnn import GRNNRegressor, averaged
from ..structured.classifier import StructuredSVC
from ..training.expansions import KernelExpansion
from .graph import Graph
from .operators import decide, kernel_scores, label_type, labels, linear_scores, probabilities, smooth

MODEL_NAMES = (
    "JointSVC", "CoreVectorSVC", "LandmarkSVC", "PairwiseSVC", "OneVsRestSVC", "OutputCodeSVC", "StructuredSVC",
    "AutoSVC", "GRNNRegressor", "SupervisedIsomap",
)  # fmt: skip
SCALERS = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler")


def steps_of(model: Any) -> list[Any]:
    """The steps of a pipeline that do something, or the model alone."""
    if not isinstance(model, Pipeline):
        return [model]
    return [step for _, step in model.steps if step not in (None, "passthrough")]


def outputs(graph: Graph, model: Any, x: str) -> dict[str, str]:
    """What a model, or a pipeline that ends in one, gives for the rows x: names of outputs, and of their tensors."""
    *before, last = steps_of(model)
    for step in before:
        x = transformed(step, graph, x)
    return predicted(last, graph, x)


def declared(graph: Graph, model: Any) -> dict[str, tuple[np.dtype, list[int]]]:
    """Types of the outputs, and their shapes behind the number of rows."""
    return shapes(steps_of(model)[-1], np.dtype(graph.dtype))


# --- the last step: its outputs, and their types and shapes ---


@singledispatch
def predicted(model: Any, graph: Graph, x: str) -> dict[str, str]:
    expected = f"{', '.join(MODEL_NAMES[:-1])} or {MODEL_NAMES[-1]}"
    raise ValueError(f"to_onnx: expected {expected}, got {type(model).__name__}")


@singledispatch
def shapes(model: Any, number: np.dtype) -> dict[str, tuple[np.dtype, list[int]]]:
    T = len(model.classes_)
    return {"label": (label_type(model.classes_), []), "scores": (number, [T] if T > 2 else [])}


@predicted.register
def _(model: GRNNRegressor, graph: Graph, x: str) -> dict[str, str]:
    return {"prediction": smooth(graph, model, x)}


@shapes.register
def _(model: GRNNRegressor, number: np.dtype) -> dict[str, tuple[np.dtype, list[int]]]:
    given = averaged(model)
    return {"prediction": (number, [] if given.one_output else [given.y.shape[1]])}


@predicted.register
def _(model: SupervisedIsomap, graph: Graph, x: str) -> dict[str, str]:
    return {"embedding": smooth(graph, model.grnn_, x)}


@shapes.register
def _(model: SupervisedIsomap, number: np.dtype) -> dict[str, tuple[np.dtype, list[int]]]:
    return {"embedding": (number, [model.n_components_])}


@predicted.register(KernelExpansion)
@predicted.register(StructuredSVC)
def classified(machine: Any, graph: Graph, x: str) -> dict[str, str]:
    scores, winner = decide(graph, machine, machine_scores(machine, graph, x))
    return {"label": graph.op("Gather", labels(graph, machine.classes_), winner, axis=0), "scores": scores}


@predicted.register
def _(model: AutoSVC, graph: Graph, x: str) -> dict[str, str]:
    machine = model.machine_
    F = machine_scores(machine, graph, transformed(model.encoder_, graph, x))
    scores, winner = decide(graph, machine, F)
    label = graph.op("Gather", labels(graph, machine.classes_), winner, axis=0)
    return {"label": label, "scores": scores, "probabilities": probabilities(graph, model, F, scores, winner)}


@shapes.register
def _(model: AutoSVC, number: np.dtype) -> dict[str, tuple[np.dtype, list[int]]]:
    return {**shapes(model.machine_, number), "probabilities": (number, [len(model.classes_)])}


@singledispatch
def machine_scores(machine: Any, graph: Graph, x: str) -> str:
    """The scores that a machine decides by, (n, n_scores)."""
    return kernel_scores(graph, machine, x)


@machine_scores.register
def _(machine: StructuredSVC, graph: Graph, x: str) -> str:
    if machine.joint_map is not None:
        raise ValueError(
            "to_onnx: expected joint_map=None, got a joint_map; Python functions have no graph of operators"
        )
    return linear_scores(graph, machine, x)


# --- a step before the last ---


@singledispatch
def transformed(step: Any, graph: Graph, x: str) -> str:
    raise ValueError(
        f"expected the steps before the machine to be among {quoted(SCALERS)}, got "
        f"{type(step).__name__}; for other steps call polymargin.onnx.register() and use skl2onnx"
    )


@transformed.register
def _(step: SupervisedIsomap, graph: Graph, x: str) -> str:
    return smooth(graph, step.grnn_, x)


@transformed.register(StandardScaler)
def standardized(step: Any, graph: Graph, x: str) -> str:
    x = graph.op("Sub", x, graph.constant(step.mean_)) if step.with_mean else x
    return graph.op("Div", x, graph.constant(step.scale_)) if step.with_std else x


@transformed.register(MinMaxScaler)
def in_range(step: Any, graph: Graph, x: str) -> str:
    op, constant = graph.op, graph.constant
    x = op("Add", op("Mul", x, constant(step.scale_)), constant(step.min_))
    low, high = step.feature_range
    return op("Clip", x, constant(low), constant(high)) if step.clip else x


@transformed.register(MaxAbsScaler)
def in_unit_range(step: Any, graph: Graph, x: str) -> str:
    op, constant = graph.op, graph.constant
    x = op("Div", x, constant(step.scale_))
    return op("Clip", x, constant(-1), constant(1)) if getattr(step, "clip", False) else x


@transformed.register
def _(encoder: ColumnEncoder, graph: Graph, x: str) -> str:
    """Columns that are all numbers: gaps to medians, scales, and where the gaps were."""
    op, constant = graph.op, graph.constant
    if len(encoder.numeric_) + len(encoder.left_out_) < encoder.n_features_in_ or any(encoder.formats_):
        raise ValueError(
            "to_onnx: expected columns of numbers only, got columns of words, dates or text; turn them into numbers "
            "before fit"
        )
    if len(encoder.left_out_):
        x = op("Gather", x, constant(encoder.numeric_, np.int64), axis=1)
    empty = op("IsNaN", x)
    numbers = op("Where", empty, constant(encoder.median_), x)
    numbers = op("Div", op("Sub", numbers, constant(encoder.mean_)), constant(encoder.scale_))
    if len(encoder.gaps_) == 0:
        return numbers
    flags = op("Gather", graph.number(empty), constant(encoder.gaps_, np.int64), axis=1)
    return op("Concat", numbers, flags, axis=1)
