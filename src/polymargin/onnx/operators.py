"""Operators of fitted models: kernels, decision rules, the map for new rows.

Every function adds nodes to a graph and returns the name of their result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..auto.probabilities import MOST_ODDS
from ..inspection.sensitivity import dense
from ..smoothing.grnn import GRNNRegressor, averaged
from ..training.decisions import Decision, decision_of
from ..training.pair_codes import all_pairs
from .graph import Graph

LARGEST_FILE = 1 << 31  # bytes: what one ONNX file can hold


def squared_distances(graph: Graph, x: str, Z: np.ndarray, root: Any = 1.0) -> str:
    """|root (x - z)|^2 for all rows z, (n, n_Z)."""
    # |x|^2 - 2 <x, z> + |z|^2 around a common origin, so that little cancels.
    op, constant = graph.op, graph.constant
    origin = Z.mean(axis=0) if len(Z) else np.zeros(Z.shape[1])
    root = root * np.ones(Z.shape[1])
    Z = (Z - origin) * root
    x = op("Mul", op("Sub", x, constant(origin)), constant(root))
    distance = op("Add", op("MatMul", x, constant(-2 * Z.T)), constant(np.square(Z).sum(axis=1)))
    return op("Max", op("Add", distance, graph.row_sums(op("Mul", x, x))), constant(0))


def smooth(graph: Graph, grnn: GRNNRegressor, x: str) -> str:
    """sum_j w_j g_j z_j / sum_j w_j g_j, g_j = exp(ln 2 (d_min^2 - d_j^2) / spread^2): at least one g_j is 1."""
    op, constant = graph.op, graph.constant
    given = averaged(grnn)
    Z = dense(given.X).astype(np.float64)
    d2 = whole = squared_distances(graph, x, Z)
    rate = math.log(2) / grnn.spread_**2
    if grnn.n_neighbors is not None and grnn.n_neighbors < len(Z):
        if np.any(given.weight != 1):
            raise ValueError("to_onnx: expected n_neighbors=None, or rows of weight 1, got n_neighbors and weights")
        d2, near = graph.op2("TopK", d2, constant([grnn.n_neighbors], np.int64), axis=1, largest=0)
        g = closeness(graph, d2, rate)
        terms = op("Mul", op("Unsqueeze", g, constant([2], np.int64)), op("Gather", constant(given.y), near, axis=0))
        z = op("Div", graph.reduce("ReduceSum", terms, 1, keep=False), graph.row_sums(g))
    else:
        g = op("Mul", closeness(graph, d2, rate), constant(given.weight))
        z = op("Div", op("MatMul", g, constant(given.y)), graph.row_sums(g))
    if grnn.interpolate:
        _, index = np.unique(Z, axis=0, return_inverse=True)
        index, weight = index.ravel(), given.weight
        means = np.array([np.bincount(index, weight * column) / np.bincount(index, weight) for column in given.y.T])
        nearest = op("ArgMin", whole, axis=1, keepdims=0)
        apart = op("Abs", op("Sub", x, op("Gather", constant(Z), nearest, axis=0)))
        equal = op("Equal", graph.reduce("ReduceMax", apart), constant(0))
        z = op("Where", equal, op("Gather", constant(means.T[index]), nearest, axis=0), z)
    return column(graph, z, 0) if given.one_output else z


def closeness(graph: Graph, d2: str, rate: float) -> str:
    """exp(rate (d_min^2 - d^2))"""
    above = graph.op("Sub", graph.reduce("ReduceMin", d2), d2)
    return graph.op("Exp", graph.op("Mul", above, graph.constant(rate)))


def probabilities(graph: Graph, model: Any, F: str, scores: str, winner: str) -> str:
    """Of an AutoSVC, as `auto.probabilities.probabilities`."""
    op, constant, T = graph.op, graph.constant, len(model.classes_)
    if T == 2:
        half = op("Mul", op("Unsqueeze", scores, constant([1], np.int64)), constant([[-0.5, 0.5]]))
        return op("Softmax", op("Div", half, constant(model.margins_[0] * model.temperature_)), axis=1)
    decision = decision_of(model.machine_)
    if decision.pairs is None:
        return op("Softmax", op("Div", scores, constant(model.margins_[0] * model.temperature_)), axis=1)
    F = op("Div", F, constant(model.margins_))
    code = decision.code.T
    odds = op("Max", op("Min", op("Div", F, constant(model.temperature_)), constant(MOST_ODDS)), constant(-MOST_ODDS))
    below = both(graph, lambda v: op("Exp", v), odds, code)
    S = op("Neg", op("Log", op("Add", below, constant(1))))
    rest = both(graph, lambda v: softplus(graph, v), op("Mul", F, constant(2)), code)
    S = op("Sub", S, op("Mul", rest, constant(model.evidence_weight_)))
    top = op("Add", graph.reduce("ReduceMax", S), constant(1e-9))
    S = op("Where", one_hot(graph, winner, T), op("Max", S, top), S)
    return op("Softmax", S, axis=1)


def both(graph: Graph, function: Callable[[str], str], v: str, code: np.ndarray) -> str:
    """Sums over the pairs of each class: function(-v) where it comes first, function(v) where it comes second."""
    parts = [(graph.op("Neg", v), 1), (v, -1)]
    return graph.op("Add", *(graph.op("MatMul", function(x), graph.constant(code == s)) for x, s in parts))


def softplus(graph: Graph, v: str) -> str:
    """ln(1 + e^v); the operator of that name is not available for float64 everywhere."""
    op, constant = graph.op, graph.constant
    rest = op("Log", op("Add", op("Exp", op("Neg", op("Abs", v))), constant(1)))
    return op("Add", op("Max", v, constant(0)), rest)


def one_hot(graph: Graph, winner: str, T: int) -> str:
    """Whether a class is the winner, (n, T)."""
    winner = graph.op("Unsqueeze", winner, graph.constant([1], np.int64))
    return graph.op("Equal", winner, graph.constant(np.arange(T), np.int64))


def linear_scores(graph: Graph, machine: Any, x: str) -> str:
    W, b = graph.constant(machine.coef_.T), graph.constant(machine.intercept_)
    return graph.op("Add", graph.op("MatMul", x, W), b)


def kernel_scores(graph: Graph, machine: Any, x: str) -> str:
    """sum_i B[l, i] k(x_i, x) + b_l for all scores l of a machine, (n, n_scores)."""
    x = unit_rows(graph, x) if getattr(machine, "normalize", False) else x
    n_scores, n_vectors = machine.dual_coef_.shape
    if graph.dtype().itemsize * n_vectors * (n_scores + machine.n_features_in_) > LARGEST_FILE:
        raise ValueError(
            f"to_onnx: expected a model of less than {LARGEST_FILE >> 30} GB, got {n_vectors} support vectors with "
            f"{machine.n_features_in_} features and {n_scores} scores; use save_model"
        )
    if machine.kernel == "linear":
        return linear_scores(graph, machine, x)
    if callable(machine.kernel):
        raise ValueError(
            "to_onnx: expected a kernel by name, got a callable; a Python function has no graph of operators"
        )
    K, B = OPERATORS[machine.kernel](graph, machine, x), graph.constant(dense(machine.dual_coef_).T)
    return graph.op("Add", graph.op("MatMul", K, B), graph.constant(machine.intercept_))


def precomputed(graph: Graph, machine: Any, x: str) -> str:
    return graph.op("Gather", x, graph.constant(machine.support_, np.int64), axis=1)


def rbf(graph: Graph, machine: Any, x: str) -> str:
    distances = squared_distances(graph, x, dense(machine.support_vectors_), np.sqrt(machine.gamma_))
    return graph.op("Exp", graph.op("Neg", distances))


def laplacian(graph: Graph, machine: Any, x: str) -> str:
    op, constant = graph.op, graph.constant
    x = op("Unsqueeze", x, constant([1], np.int64))
    apart = op("Abs", op("Sub", x, constant(dense(machine.support_vectors_))))
    return op("Exp", op("Mul", graph.reduce("ReduceSum", apart, keep=False), constant(-machine.gamma_)))


def cosine(graph: Graph, machine: Any, x: str) -> str:
    Z = dense(machine.support_vectors_)
    lengths = np.linalg.norm(Z, axis=1, keepdims=True)
    Z = np.divide(Z, lengths, where=lengths > 0, out=np.zeros_like(Z))
    return graph.op("MatMul", unit_rows(graph, x), graph.constant(Z.T))


def inner(graph: Graph, machine: Any, x: str) -> str:
    """gamma <x, z> + coef0"""
    Z = dense(machine.support_vectors_)
    return graph.op("Add", graph.op("MatMul", x, graph.constant(machine.gamma_ * Z.T)), graph.constant(machine.coef0))


def sigmoid(graph: Graph, machine: Any, x: str) -> str:
    return graph.op("Tanh", inner(graph, machine, x))


def poly(graph: Graph, machine: Any, x: str) -> str:
    return graph.op("Pow", inner(graph, machine, x), graph.constant(machine.degree))


# k(x, z) for all support vectors z, (n, n_SV).
OPERATORS: dict[str, Callable[[Graph, Any, str], str]] = {
    "precomputed": precomputed,
    "rbf": rbf,
    "laplacian": laplacian,
    "cosine": cosine,
    "sigmoid": sigmoid,
    "poly": poly,
}


def unit_rows(graph: Graph, x: str) -> str:
    """Rows divided by their length; a row of zeros stays."""
    op, tiny = graph.op, graph.constant(np.finfo(graph.dtype).tiny)
    largest = op("Max", graph.reduce("ReduceMax", op("Abs", x)), tiny)
    x = op("Div", x, largest)  # first to size 1, so that squares neither overflow nor vanish
    return op("Div", x, op("Max", op("Sqrt", graph.row_sums(op("Mul", x, x))), tiny))


def decide(graph: Graph, machine: Any, F: str) -> tuple[str, str]:
    """The scores of `decision_function`, and the number of the winner; F are the scores of `dual_coef_`."""
    op, constant, decision = graph.op, graph.constant, decision_of(machine)
    if decision.n_classes > 2:
        S = class_scores(graph, decision, F)
        return S, op("ArgMax", S, axis=1, keepdims=0)
    if decision.columns is not None and len(machine.intercept_) == 1:
        f = op("Mul", column(graph, F, 0), constant(decision.code[1, 0]))
    else:
        S = class_scores(graph, decision, F)
        f = op("Mul", op("Sub", column(graph, S, 1), column(graph, S, 0)), constant(decision.scale))
    return f, op("Cast", op("Greater", f, constant(0)), to=graph.helper.np_dtype_to_tensor_dtype(np.dtype(np.int64)))


def column(graph: Graph, F: str, k: int) -> str:
    return graph.op("Gather", F, graph.constant(k, np.int64), axis=1)


def class_scores(graph: Graph, decision: Decision, F: str) -> str:
    """Scores of the classes by the rule of a decision."""
    op, constant = graph.op, graph.constant
    if decision.rule == "largest":
        return F
    if decision.pairs is not None:
        return pair_scores(graph, decision, F)
    M = decision.code.astype(float)
    Mf = op("Mul", op("Unsqueeze", F, constant([1], np.int64)), constant(M))  # (n, T, L)
    if decision.rule == "exp":
        return op("Neg", graph.reduce("ReduceLogSumExp", op("Neg", Mf), keep=False))
    if decision.rule == "hinge":
        return op("Neg", graph.reduce("ReduceSum", op("Max", op("Sub", constant(1), Mf), constant(0)), keep=False))
    sign = op("Where", op("Greater", F, constant(0)), constant(1), constant(-1))
    near = op("Mul", op("Sub", op("MatMul", sign, constant(M.T)), constant(M.shape[1])), constant(0.5))
    return op("Add", near, bounded(graph, op("MatMul", F, constant(M.T)), 6))


def bounded(graph: Graph, s: str, k: float) -> str:
    """s / (k (|s| + 1))"""
    op, constant = graph.op, graph.constant
    return op("Div", s, op("Mul", op("Add", op("Abs", s), constant(1)), constant(k)))


def pair_scores(graph: Graph, decision: Decision, F: str) -> str:
    """Votes of the pairs with a tie-break of less than half a vote; DAG: the winner is raised above the rest."""
    op, constant, M = graph.op, graph.constant, decision.code.T.astype(float)
    won = graph.number(op("Greater", F, constant(0)))
    votes = op("Add", op("MatMul", won, constant(M)), constant((M < 0).sum(axis=0)))
    S = op("Add", votes, bounded(graph, op("MatMul", F, constant(M)), 3))
    if decision.rule == "max-wins":
        return S
    winner = dag_winner(graph, F, decision.n_classes)
    here = one_hot(graph, winner, M.shape[1])
    first = op("Equal", op("ArgMax", S, axis=1, keepdims=0), winner)
    raised = op("And", here, op("Not", op("Unsqueeze", first, constant([1], np.int64))))
    above = op("Add", op("Max", graph.reduce("ReduceMax", S), constant(0)), constant(1 / 3))
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
    raise ValueError(f"expected classes that are numbers or strings, got {classes[:5].tolist()}")


def labels(graph: Graph, classes: np.ndarray) -> str:
    return graph.constant(classes.astype(label_type(classes)), label_type(classes))
