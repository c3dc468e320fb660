"""Models as ONNX graphs of plain operators: matrix products, Exp, ArgMax.

    X -> scalers of a pipeline -> kernel values K (n, n_SV) -> K B' + b, scores -> the decision rule -> label, scores

The operators SVMClassifier and SVMRegressor of ONNX are not used: they compute in float32 only and know no joint
machines.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from .checks import quoted
from .code_machines import CodeClassifier
from .output_codes import OutputCodeSVC
from .prototypes import PrototypeClassifier
from .reductions import PairwiseSVC, all_pairs
from .sensitivity import code_of, dense

OPSET = 17
LARGEST = 1 << 31  # bytes: what one ONNX file can hold


class Graph:
    """Nodes and constants that are added one by one; every function returns the name of its result."""

    def __init__(self, double: bool) -> None:
        from onnx import helper, numpy_helper

        self.helper, self.numpy_helper = helper, numpy_helper
        self.dtype = np.float64 if double else np.float32
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def op(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        output = output or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def constant(self, value: Any, dtype: Any = None) -> str:
        array = np.array(value, dtype=dtype or self.dtype, order="C")
        self.constants.append(self.numpy_helper.from_array(array, f"constant_{len(self.constants)}"))
        return self.constants[-1].name

    def row_sums(self, x: str) -> str:
        """Sums over the last axis, which stays."""
        return self.op("ReduceSum", x, self.constant([-1], np.int64), keepdims=1)


def to_onnx(model: Any, path: str | os.PathLike | None = None, *, double: bool = False) -> Any:
    """A fitted classifier as an ONNX model, to be run without this library.

    The graph takes `X` of shape (n, n_features), or kernel values for `kernel="precomputed"`, and gives `label` of
    shape (n,) and `scores`, what `decision_function` gives.

    Parameters
    ----------
    model : fitted JointSVC, CoreVectorSVC, PairwiseSVC, OneVsRestSVC or OutputCodeSVC, or Pipeline behind scalers
        Scalers are StandardScaler, MinMaxScaler and MaxAbsScaler. A callable kernel cannot be exported.
    path : str or path, default=None
        Where to write the model, too.
    double : bool, default=False
        Compute in float64, with X of that type; else in float32.

    Returns
    -------
    onnx_model : onnx.ModelProto
        The model; `onnxruntime.InferenceSession(onnx_model.SerializeToString())` runs it.

    Notes
    -----
    The Laplacian kernel needs memory for n * n_SV * n_features numbers: pass few rows at once.
    """
    try:
        import onnx
    except ImportError:
        raise ImportError(
            'to_onnx expected the package onnx, and found none: install it with pip install "polymargin[onnx]"'
        ) from None
    check_is_fitted(model)
    graph = Graph(double)
    steps = (
        [step for _, step in model.steps if step not in (None, "passthrough")]
        if isinstance(model, Pipeline)
        else [model]
    )
    machine = steps[-1]
    if not isinstance(machine, PrototypeClassifier):
        raise ValueError(
            f"to_onnx expected JointSVC, CoreVectorSVC, PairwiseSVC, OneVsRestSVC or OutputCodeSVC, and found "
            f"{type(machine).__name__}"
        )
    if code_of(machine) is not None and not isinstance(machine, CodeClassifier):
        raise ValueError(
            f'to_onnx expected scheme="joint", and found {type(machine).__name__}(scheme="pairwise"): use PairwiseSVC'
        )
    x = "X"
    for scaler in steps[:-1]:
        x = scale(graph, scaler, x)
    if getattr(machine, "normalize", False):
        x = unit_rows(graph, x)
    F = machine_scores(graph, machine, x)
    scores, winner = decide(graph, machine, F)
    graph.op("Identity", scores, output="scores")
    label = graph.op("Gather", labels(graph, machine.classes_), winner, axis=0, output="label")
    proto = finish(graph, model, machine, label)
    onnx.checker.check_model(proto)
    if path is not None:
        onnx.save_model(proto, os.fspath(path))
    return proto


def finish(graph: Graph, model: Any, machine: Any, label: str) -> Any:
    """The graph with its inputs and outputs declared."""
    from . import __version__

    helper = graph.helper
    number = helper.np_dtype_to_tensor_dtype(np.dtype(graph.dtype))
    kind = helper.np_dtype_to_tensor_dtype(label_type(machine.classes_))
    width = [len(machine.classes_)] if len(machine.classes_) > 2 else []
    body = helper.make_graph(
        graph.nodes,
        type(machine).__name__,
        [helper.make_tensor_value_info("X", number, ["n", int(model.n_features_in_)])],
        [
            helper.make_tensor_value_info("label", kind, ["n"]),
            helper.make_tensor_value_info("scores", number, ["n", *width]),
        ],
        graph.constants,
    )
    return helper.make_model(
        body,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=8,
        producer_name="polymargin",
        producer_version=__version__,
    )


def scale(graph: Graph, scaler: Any, x: str) -> str:
    """The scalers of scikit-learn."""
    if isinstance(scaler, StandardScaler):
        x = graph.op("Sub", x, graph.constant(scaler.mean_)) if scaler.with_mean else x
        return graph.op("Div", x, graph.constant(scaler.scale_)) if scaler.with_std else x
    if isinstance(scaler, MinMaxScaler):
        x = graph.op("Add", graph.op("Mul", x, graph.constant(scaler.scale_)), graph.constant(scaler.min_))
        low, high = scaler.feature_range
        return graph.op("Clip", x, graph.constant(low), graph.constant(high)) if scaler.clip else x
    if isinstance(scaler, MaxAbsScaler):
        x = graph.op("Div", x, graph.constant(scaler.scale_))
        return graph.op("Clip", x, graph.constant(-1), graph.constant(1)) if getattr(scaler, "clip", False) else x
    raise ValueError(
        f"to_onnx expected scalers of the kinds {quoted(('StandardScaler', 'MinMaxScaler', 'MaxAbsScaler'))} before "
        f"the machine, and found {type(scaler).__name__}"
    )


def machine_scores(graph: Graph, machine: Any, x: str) -> str:
    """sum_i B[c, i] k(x_i, x) + b_c for all scores c of a machine, (n, n_scores)."""
    n_scores, n_vectors = machine.dual_coef_.shape
    if graph.dtype().itemsize * n_vectors * (n_scores + machine.n_features_in_) > LARGEST:
        raise ValueError(
            f"to_onnx expected a model of less than {LARGEST >> 30} GB, and found {n_vectors} support vectors with "
            f"{machine.n_features_in_} features and {n_scores} scores: use save_model"
        )
    b = graph.constant(machine.intercept_)
    if machine.kernel == "linear":
        return graph.op("Add", graph.op("MatMul", x, graph.constant(machine.coef_.T)), b)
    B = graph.constant(dense(machine.dual_coef_).T)
    return graph.op("Add", graph.op("MatMul", kernel_values(graph, machine, x), B), b)


def kernel_values(graph: Graph, machine: Any, x: str) -> str:
    """k(x, z) for all support vectors z, (n, n_SV)."""
    op, constant, gamma = graph.op, graph.constant, machine.gamma_
    if machine.kernel == "precomputed":
        return op("Gather", x, constant(machine.support_, np.int64), axis=1)
    if callable(machine.kernel):
        raise ValueError(
            "to_onnx expected a kernel by name, and found a callable: a Python function is no graph of operators"
        )
    Z = dense(machine.support_vectors_)
    if machine.kernel == "rbf":
        # |x - z|^2 = |x|^2 - 2 <x, z> + |z|^2 around a common origin, so that little cancels.
        origin = Z.mean(axis=0) if len(Z) else np.zeros(Z.shape[1])
        root = np.sqrt(gamma) * np.ones(Z.shape[1])
        Z = (Z - origin) * root
        x = op("Mul", op("Sub", x, constant(origin)), constant(root))
        distance = op("Add", op("MatMul", x, constant(-2 * Z.T)), constant(np.square(Z).sum(axis=1)))
        distance = op("Add", distance, graph.row_sums(op("Mul", x, x)))
        return op("Exp", op("Neg", op("Max", distance, constant(0))))
    if machine.kernel == "laplacian":
        x = op("Unsqueeze", x, constant([1], np.int64))
        distance = op("ReduceSum", op("Abs", op("Sub", x, constant(Z))), constant([2], np.int64), keepdims=0)
        return op("Exp", op("Mul", distance, constant(-gamma)))
    if machine.kernel == "cosine":
        lengths = np.linalg.norm(Z, axis=1, keepdims=True)
        Z = np.divide(Z, lengths, where=lengths > 0, out=np.zeros_like(Z))
        return op("MatMul", unit_rows(graph, x), constant(Z.T))
    inner = op("Add", op("MatMul", x, constant(gamma * Z.T)), constant(machine.coef0))
    return op("Tanh", inner) if machine.kernel == "sigmoid" else op("Pow", inner, constant(machine.degree))


def unit_rows(graph: Graph, x: str) -> str:
    """Rows divided by their length; a row of zeros stays."""
    op, tiny = graph.op, graph.constant(np.finfo(graph.dtype).tiny)
    largest = op("Max", op("ReduceMax", op("Abs", x), axes=[-1], keepdims=1), tiny)
    x = op("Div", x, largest)  # first to size 1, so that squares neither overflow nor vanish
    return op("Div", x, op("Max", op("Sqrt", graph.row_sums(op("Mul", x, x))), tiny))


def decide(graph: Graph, machine: Any, F: str) -> tuple[str, str]:
    """The scores of `decision_function`, and the number of the winner; F are the scores of `dual_coef_`."""
    op, constant = graph.op, graph.constant
    if len(machine.classes_) == 2:
        if isinstance(machine, CodeClassifier) and len(machine.intercept_) > 1:
            S = code_scores(graph, machine, F)
            f = op("Sub", column(graph, S, 1), column(graph, S, 0))
        elif isinstance(machine, CodeClassifier):
            f = op("Mul", column(graph, F, 0), constant(machine.code_[1, 0]))
        else:
            f = op("Sub", column(graph, F, 1), column(graph, F, 0))
            f = op("Mul", f, constant(machine._binary_scale()))
        return f, op(
            "Cast", op("Greater", f, constant(0)), to=graph.helper.np_dtype_to_tensor_dtype(np.dtype(np.int64))
        )
    S = code_scores(graph, machine, F) if isinstance(machine, CodeClassifier) else F
    return S, op("ArgMax", S, axis=1, keepdims=0)


def column(graph: Graph, F: str, k: int) -> str:
    return graph.op("Gather", F, graph.constant(k, np.int64), axis=1)


def code_scores(graph: Graph, machine: Any, F: str) -> str:
    """Class scores of a reduction from those of its binary machines."""
    op, constant, M = graph.op, graph.constant, machine.code_.astype(float)
    if isinstance(machine, PairwiseSVC):
        return pair_scores(graph, machine, F)
    if not isinstance(machine, OutputCodeSVC):
        return F
    Mf = op("Mul", op("Unsqueeze", F, constant([1], np.int64)), constant(M))  # (n, T, L)
    last = constant([2], np.int64)
    if machine.decoding == "exp":
        return op("Neg", op("ReduceLogSumExp", op("Neg", Mf), axes=[2], keepdims=0))
    if machine.decoding == "hinge":
        return op("Neg", op("ReduceSum", op("Max", op("Sub", constant(1), Mf), constant(0)), last, keepdims=0))
    sign = op("Where", op("Greater", F, constant(0)), constant(1), constant(-1))
    near = op("Mul", op("Sub", op("MatMul", sign, constant(M.T)), constant(M.shape[1])), constant(0.5))
    return op("Add", near, bounded(graph, op("MatMul", F, constant(M.T)), 6))


def bounded(graph: Graph, s: str, k: float) -> str:
    """s / (k (|s| + 1))"""
    op, constant = graph.op, graph.constant
    return op("Div", s, op("Mul", op("Add", op("Abs", s), constant(1)), constant(k)))


def pair_scores(graph: Graph, machine: Any, F: str) -> str:
    """Votes of the pairs with a tie-break of less than half a vote; DAG: the winner is raised above the rest."""
    op, constant, M = graph.op, graph.constant, machine.code_.T.astype(float)
    won = op("Cast", op("Greater", F, constant(0)), to=graph.helper.np_dtype_to_tensor_dtype(np.dtype(graph.dtype)))
    votes = op("Add", op("MatMul", won, constant(M)), constant((M < 0).sum(axis=0)))
    S = op("Add", votes, bounded(graph, op("MatMul", F, constant(M)), 3))
    if machine.decision == "max-wins":
        return S
    winner = dag_winner(graph, F, len(machine.classes_))
    here = op("Equal", op("Unsqueeze", winner, constant([1], np.int64)), constant(np.arange(M.shape[1]), np.int64))
    first = op("Equal", op("ArgMax", S, axis=1, keepdims=0), winner)
    raised = op("And", here, op("Not", op("Unsqueeze", first, constant([1], np.int64))))
    above = op("Add", op("Max", op("ReduceMax", S, axes=[1], keepdims=1), constant(0)), constant(1 / 3))
    return op("Where", raised, above, S)


def dag_winner(graph: Graph, F: str, T: int) -> str:
    """The first and the last class that are left meet, and the loser leaves, T - 1 times."""
    op, constant = graph.op, graph.constant
    number = np.zeros((T, T), dtype=np.int64)
    number[tuple(all_pairs(T).T)] = np.arange(T * (T - 1) // 2)
    table, one, axis = constant(number.ravel(), np.int64), constant(1, np.int64), constant([1], np.int64)
    first = op("ArgMin", op("Mul", F, constant(0)), axis=1, keepdims=0)  # zeros, one per row
    last = op("Add", first, constant(T - 1, np.int64))
    for _ in range(T - 1):
        pair = op("Gather", table, op("Add", op("Mul", first, constant(T, np.int64)), last), axis=0)
        f = op("Squeeze", op("GatherElements", F, op("Unsqueeze", pair, axis), axis=1), axis)
        won = op("Greater", f, constant(0))
        first, last = op("Where", won, first, op("Add", first, one)), op("Where", won, op("Sub", last, one), last)
    return first


def label_type(classes: np.ndarray) -> np.dtype:
    if classes.dtype.kind in "iu":
        return np.dtype(np.int64)
    if classes.dtype.kind in "bf":
        return np.dtype(bool if classes.dtype.kind == "b" else np.float64)
    if all(isinstance(c, str) for c in classes):
        return np.dtype(object)  # ONNX strings
    raise ValueError(f"to_onnx expected classes that are numbers or strings, and found {classes[:5].tolist()}")


def labels(graph: Graph, classes: np.ndarray) -> str:
    return graph.constant(classes.astype(label_type(classes)), label_type(classes))
