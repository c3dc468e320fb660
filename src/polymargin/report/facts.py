"""What a report says, as plain numbers and strings: computed here, drawn elsewhere."""

from __future__ import annotations

import platform
import time
from importlib.metadata import version
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from ..fitting.resources import peak_memory
from ..version import __version__

SHOWN_POINTS = 2000  # rows in the picture: more would be indistinguishable
SHOWN_ROWS = 20  # hardest examples
SHOWN_FEATURES = 20
SENSITIVITY_ROWS = 2000
BINS = 10


def facts(model: Any, X: Any, y: np.ndarray, *, title: str, source: str, random_state: int = 0) -> dict[str, Any]:
    """All sections of a report on a fitted AutoSVC and labeled rows."""
    begin = time.perf_counter()
    y = np.asarray(y)
    P = model.predict_proba(X)
    predicted = model.classes_[P.argmax(axis=1)]
    names = [str(c) for c in model.classes_]
    Z, features = model.encode(X), [str(f) for f in model.feature_names_out_]
    out: dict[str, Any] = {
        "title": title,
        "source": source,
        "names": names,
        "data": data_facts(X, y, model),
        "choices": list(model.explain_choices_),
        "scores": score_facts(y, predicted, model.classes_),
        "calibration": calibration_facts(P, y, model.classes_),
        "embedding": embedding_facts(Z, y, predicted, model.classes_, random_state),
        "sensitivity": sensitivity_facts(model.machine_, Z, features, names, random_state),
        "hardest": hardest_rows(P, y, predicted, model.classes_, X),
        "run": run_facts(model),
    }
    out["run"]["seconds for this report"] = f"{time.perf_counter() - begin:.1f}"
    return out


def data_facts(X: Any, y: np.ndarray, model: Any) -> dict[str, Any]:
    classes, counts = np.unique(y, return_counts=True)
    encoder = model.encoder_
    gaps = 0
    if not sp.issparse(X):
        values = np.asarray(X, dtype=object)
        gaps = int(sum(v is None or v != v for v in values.ravel())) if values.size < 5_000_000 else -1
    return {
        "rows": X.shape[0],
        "columns": X.shape[1],
        "numeric": len(encoder.numeric_),
        "categorical": len(encoder.categorical_),
        "left out": len(encoder.left_out_),
        "empty cells": "not counted" if gaps < 0 else gaps,
        "classes": [(str(c), int(n)) for c, n in zip(classes, counts, strict=True)],
    }


def score_facts(y: np.ndarray, predicted: np.ndarray, classes: np.ndarray) -> dict[str, Any]:
    M = confusion_matrix(y, predicted, labels=classes)
    p, r, f, n = precision_recall_fscore_support(y, predicted, labels=classes, zero_division=0.0)
    return {
        "accuracy": float((y == predicted).mean()),
        "macro F1": float(f[n > 0].mean()),
        "confusion": M.tolist(),
        "table": [
            {"class": str(c), "precision": float(a), "recall": float(b), "F1": float(d), "rows": int(e)}
            for c, a, b, d, e in zip(classes, p, r, f, n, strict=True)
        ],
    }


def calibration_facts(P: np.ndarray, y: np.ndarray, classes: np.ndarray) -> dict[str, Any]:
    """How often the predicted class is right, by its predicted probability."""
    confidence, right = P.max(axis=1), classes[P.argmax(axis=1)] == y
    which = np.minimum((confidence * BINS).astype(int), BINS - 1)
    n = np.bincount(which, minlength=BINS)
    said = np.bincount(which, confidence, BINS) / np.maximum(n, 1)
    was = np.bincount(which, right, BINS) / np.maximum(n, 1)
    bins = [{"said": float(a), "was": float(b), "rows": int(c)} for a, b, c in zip(said, was, n, strict=True) if c]
    return {"bins": bins, "error": float(np.sum(n * np.abs(said - was)) / len(y))}


def embedding_facts(Z: Any, y: np.ndarray, predicted: np.ndarray, classes: np.ndarray, seed: int) -> dict[str, Any]:
    """A picture in the plane: half of the rows define it, the other half is placed in it without labels."""
    from ..manifold.isomap import SupervisedIsomap

    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(len(y))[:SHOWN_POINTS])
    held_out = rng.random(len(rows)) < 0.5
    index = np.searchsorted(classes, y[rows])
    points = Z[rows].toarray() if sp.issparse(Z) else Z[rows]
    if len(np.unique(index[~held_out])) < 2 or (~held_out).sum() < 5:
        return {"points": [], "why": "too few rows for a picture"}
    isomap = SupervisedIsomap(n_components=2).fit(points[~held_out], index[~held_out])
    plane = np.empty((len(rows), 2))
    plane[~held_out], plane[held_out] = isomap.embedding_, isomap.transform(points[held_out])
    low, high = plane.min(axis=0), plane.max(axis=0)
    plane = (plane - low) / np.where(high > low, high - low, 1)
    guess = np.searchsorted(classes, predicted[rows])
    return {
        "points": [
            {"row": int(r), "x": round(float(a), 4), "y": round(float(b), 4), "class": int(c), "predicted": int(g),
             "held": bool(h)}
            for r, (a, b), c, g, h in zip(rows, plane, index, guess, held_out, strict=True)
        ],
        "why": "",
    }  # fmt: skip


def sensitivity_facts(
    machine: Any, Z: Any, features: list[str], names: list[str], seed: int, shown: int = SHOWN_FEATURES
) -> dict[str, Any]:
    """The mean map, largest features first, and each class's own."""
    from ..inspection.sensitivity import sensitivity_map

    rows = np.sort(np.random.default_rng(seed).permutation(Z.shape[0])[:SENSITIVITY_ROWS])
    try:
        per_class = np.atleast_2d(sensitivity_map(machine, Z[rows], machine.predict(Z[rows])))
    except (TypeError, ValueError) as error:
        return {"features": [], "why": str(error)}
    if len(per_class) != len(names):  # a reduction has a map per binary machine: the mean of those with the class
        part = np.abs(machine.code_)
        per_class = (part @ np.nan_to_num(per_class)) / part.sum(axis=1, keepdims=True)
    overall = np.nanmean(per_class, axis=0)
    top = np.argsort(-overall, kind="stable")[:shown]
    total = overall.sum() or 1.0
    shares = np.nan_to_num(per_class / np.maximum(np.nansum(per_class, axis=1, keepdims=True), 1e-300))
    return {
        "features": [
            {"name": features[j], "share": float(overall[j] / total), "per class": shares[:, j].round(4).tolist()}
            for j in top
        ],
        "hidden": max(len(features) - len(top), 0),
        "why": "",
    }


def hardest_rows(P: np.ndarray, y: np.ndarray, predicted: np.ndarray, classes: np.ndarray, X: Any) -> dict[str, Any]:
    """Rows whose own class got the smallest probability."""
    own = P[np.arange(len(y)), np.searchsorted(classes, y)]
    rows = np.argsort(own, kind="stable")[:SHOWN_ROWS]
    columns = [str(c) for c in getattr(X, "columns", [])][:8]

    def cells(i: int) -> list[str]:
        if columns:
            return [_short(v) for v in X.iloc[i, : len(columns)]]
        return []

    return {
        "columns": columns,
        "rows": [
            {"row": int(i), "class": str(y[i]), "predicted": str(predicted[i]), "probability": float(own[i]),
             "cells": cells(int(i))}
            for i in rows
        ],
    }  # fmt: skip


def _short(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return "" if value != value else f"{value:.4g}"
    text = "" if value is None else str(value)
    return text if len(text) <= 24 else text[:23] + "…"


def run_facts(model: Any) -> dict[str, str]:
    machine = model.machine_
    facts = {"machine": repr(machine)}
    for name, label in (("status_", "status"), ("duality_gap_", "duality gap"), ("n_iter_", "steps")):
        if hasattr(machine, name):
            value = getattr(machine, name)
            facts[label] = f"{value:.1e}" if isinstance(value, float) else str(value)
    support = getattr(machine, "support_", None)
    if support is not None:
        facts["support vectors"] = f"{len(support)} of {machine.shape_fit_[0]} rows"
    facts["seconds to tune and train"] = f"{model.fit_seconds_:.2f}"
    if getattr(model, "peak_memory_", 0):
        facts["memory to tune and train"] = f"{model.peak_memory_ / 1e6:.0f} MB at most, the whole process"
    if peak := peak_memory():
        facts["memory for this report"] = f"{peak / 1e6:.0f} MB at most"
    facts["date"] = time.strftime("%Y-%m-%d %H:%M")
    facts["versions"] = ", ".join(
        [f"Python {platform.python_version()}", f"polymargin {__version__}"]
        + [f"{p} {version(p)}" for p in ("scikit-learn", "numpy", "scipy")]
    )
    return facts
