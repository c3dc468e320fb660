"""What model files hold of an embedding, and what must be true of a loaded one."""

from __future__ import annotations

from typing import Any

from ..files.kinds import NUMBERS, FiniteArray, Labels, Sizes
from ..files.records import COUNT, FINITE, INPUT, REPORT, Fitted
from ..fitting.parameters import NONE, POSITIVE
from ..smoothing.grnn import averaged

ISOMAP = {
    **INPUT,
    "embedding_": (FiniteArray(("n", "q"), ("float32", "float64")),),
    "n_components_": (Sizes(("q",), scalar=True),),
    "_n_features_out": (Sizes(("q",), scalar=True),),
    "gamma_": (NONE, POSITIVE),
    "classes_": (FiniteArray(("T",), NUMBERS), Labels("T")),
    "n_graph_components_": (COUNT,),
    "eigenvalues_": (FiniteArray(("e",)),),
    "landmarks_": (FiniteArray(("l",), ("int64",), least=0, below="n"),),
    "dist_matrix_": (FiniteArray(("l", "n"), ("float32", "float64"), least=0.0),),
    "graph_": (FiniteArray(("n", "n"), ("float32", "float64"), least=0.0, sparse=True),),
    "residual_variance_": (FINITE,),
    "trustworthiness_": (FINITE,),
    "fit_seconds_": REPORT["fit_seconds_"],
    "grnn_": (Fitted(("GRNNRegressor",)),),
}


def check_isomap(model: Any) -> str | None:
    """The map for new rows must lead from the training rows to their coordinates."""
    grnn, d = model.grnn_, model.n_features_in_
    inside = grnn.n_features_in_ == d and averaged(grnn).y.shape[1] == model.n_components_
    return None if inside else "a map of new rows that does not go with the coordinates"
