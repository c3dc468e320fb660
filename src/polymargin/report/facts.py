"""What a report says, as plain numbers and strings: computed here, drawn elsewhere."""

from __future__ import annotations

import datetime
import platform
import re
import time
import warnings
from importlib.metadata import version
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from ..fitting.checks import canonical
from ..fitting.resources import peak_memory
from ..version import __version__

SHOWN_POINTS = 2000  # rows in the picture: more would be indistinguishable
SHOWN_ROWS = 20  # hardest examples
SHOWN_CELLS = 8  # of a hard example
SHOWN_FEATURES = 20
SENSITIVITY_ROWS = 2000
BINS = 10  # of probabilities; neighbors with fewer than BIN_ROWS rows are one
BIN_ROWS = 10
SHOWN_CONFUSIONS = 20
Z95 = 1.959964  # 95 % of a normal distribution are within this many standard deviations


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
        "columns": [dict(column) for column in getattr(model, "columns_", ())],
        "choices": list(model.explain_choices_),
        "scores": score_facts(y, predicted, model.classes_),
        "cross_validated": getattr(model, "cv_score_", None),
        "measure": "accuracy" if getattr(model, "class_weight", None) is None else "weighted accuracy",
        "seen": seen_in_training(model.machine_, Z),
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
    return {
        "rows": X.shape[0],
        "columns": X.shape[1],
        "kinds": kinds_of_columns([column["used_as"] for column in model.columns_]),
        "empty cells": empty_cells(X),
        "classes": [(str(c), int(n)) for c, n in zip(classes, counts, strict=True)],
    }


def kinds_of_columns(used: list[str]) -> str:
    """For example: 3 of numbers, 1 of dates, 2 left out."""
    said = {"number": "of numbers", "category": "of categories", "date": "of dates", "text": "of text"}
    counts = ((used.count(kind), said.get(kind, kind)) for kind in (*said, "left out"))
    return ", ".join(f"{n:,} {words}" for n, words in counts if n)


def empty_cells(X: Any) -> int:
    if sp.issparse(X):
        return 0
    if hasattr(X, "isna"):
        return int(X.isna().to_numpy().sum())
    values = np.asarray(X)
    return int(sum(v is None or v != v for v in values.ravel()) if values.dtype == object else np.sum(values != values))


def seen_in_training(machine: Any, Z: Any) -> str:
    """A sentence if these rows are ones that the machine was trained on, else "".

    A machine keeps some of its training rows, the support vectors. Rows may repeat in any table, so what counts is how
    many of them are found among these rows beyond what repetition explains: the share of these rows that have a twin.
    """
    kept = getattr(machine, "support_vectors_", None)
    if kept is None or not kept.shape[0]:
        return ""
    here, there = fingerprints(Z), fingerprints(kept)
    rows, counts = np.unique(here, return_counts=True)
    twins = counts[counts > 1].sum() / len(here)
    found = np.isin(there, rows).mean()
    if found - twins <= 0.5 * (1 - twins):
        return ""
    if found == 1 and len(here) == machine.shape_fit_[0]:
        return "The model was trained on these rows."
    return f"Of the training rows that the model keeps (its support vectors), {100 * found:.0f}% are among these rows."


def fingerprints(Z: Any) -> np.ndarray:
    """A number for every row; equal rows have equal numbers."""
    if sp.issparse(Z):
        Z = canonical(sp.csr_array(Z, dtype=np.float64))
        ends = zip(Z.indptr[:-1], Z.indptr[1:], strict=True)
        rows = (Z.indices[a:b].astype(np.int64).tobytes() + Z.data[a:b].tobytes() for a, b in ends)
    else:
        rows = (row.tobytes() for row in np.ascontiguousarray(Z, dtype=np.float64) + 0.0)  # -0 is 0
    return np.array([hash(row) for row in rows])


def wilson(right: float, n: float) -> list[float]:
    """Wilson's 95 % interval of a share, from `right` of n trials."""
    share, z = right / n, Z95 * Z95 / n
    half = Z95 * np.sqrt(share * (1 - share) / n + z / (4 * n))
    return [max(0.0, float((share + z / 2 - half) / (1 + z))), min(1.0, float((share + z / 2 + half) / (1 + z)))]


def score_facts(y: np.ndarray, predicted: np.ndarray, classes: np.ndarray) -> dict[str, Any]:
    """Scores; the baseline is the largest class of these rows, always predicted."""
    M = confusion_matrix(y, predicted, labels=classes)
    p, r, f, n = precision_recall_fscore_support(y, predicted, labels=classes, zero_division=0.0)
    wrong = M - np.diag(np.diag(M))
    order = np.argsort(-wrong.ravel(), kind="stable")[:SHOWN_CONFUSIONS]
    pairs = [divmod(int(k), len(classes)) for k in order if wrong.ravel()[k]]
    return {
        "accuracy": float((y == predicted).mean()),
        "interval": wilson(float((y == predicted).sum()), len(y)),
        "baseline": {
            "class": str(classes[n.argmax()]),
            "accuracy": float(n.max() / len(y)),
            "ties": int((n == n.max()).sum()) > 1,
        },
        "macro F1": float(f[n > 0].mean()),
        "confusion": M.tolist(),
        "confusions": [
            {"class": str(classes[i]), "predicted": str(classes[j]), "rows": int(M[i, j]), "of": int(n[i])}
            for i, j in pairs
        ],
        "table": [
            {"class": str(c), "precision": float(a), "recall": float(b), "F1": float(d), "rows": int(e)}
            for c, a, b, d, e in zip(classes, p, r, f, n, strict=True)
        ],
    }


def calibration_facts(P: np.ndarray, y: np.ndarray, classes: np.ndarray) -> dict[str, Any]:
    """How often the predicted class is right, by its predicted probability: in tenths, the rare ones joined."""
    confidence, right = P.max(axis=1), classes[P.argmax(axis=1)] == y
    which = np.minimum((confidence * BINS).astype(int), BINS - 1)
    groups: list[np.ndarray] = []
    for k in range(BINS - 1, -1, -1):  # from certain to uncertain: most rows are at the top
        rows = np.flatnonzero(which == k)
        if groups and (len(groups[-1]) < BIN_ROWS or 0 < (which <= k).sum() < BIN_ROWS):
            groups[-1] = np.concatenate([groups[-1], rows])
        elif len(rows):
            groups.append(rows)
    bins: list[dict[str, Any]] = [
        {"said": float(confidence[rows].mean()), "was": float(right[rows].mean()), "rows": len(rows),
         "interval": wilson(float(right[rows].sum()), len(rows))}
        for rows in reversed(groups)
    ]  # fmt: skip
    error = sum(b["rows"] * abs(b["said"] - b["was"]) for b in bins) / len(y)
    return {"bins": bins, "error": error}


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
    with warnings.catch_warnings():  # of one or two rows per class: they are known to be classes
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
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
            {"name": features[j], "share": float(overall[j] / total), "per class": shares[:, j].round(6).tolist()}
            for j in top
        ],
        "hidden": max(len(features) - len(top), 0),
        "why": "",
    }


def hardest_rows(P: np.ndarray, y: np.ndarray, predicted: np.ndarray, classes: np.ndarray, X: Any) -> dict[str, Any]:
    """Rows whose own class got the smallest probability."""
    own = P[np.arange(len(y)), np.searchsorted(classes, y)]
    rows = np.argsort(own, kind="stable")[:SHOWN_ROWS]
    columns = [str(c) for c in getattr(X, "columns", [])][:SHOWN_CELLS]

    def cells(i: int) -> list[str]:
        if columns:
            return [_short(v) for v in X.iloc[i, : len(columns)]]
        return []

    return {
        "columns": columns,
        "hidden": max(X.shape[1] - len(columns), 0) if columns else 0,
        "rows": [
            {"row": int(i), "class": str(y[i]), "predicted": str(predicted[i]), "probability": float(own[i]),
             "cells": cells(int(i))}
            for i in rows
        ],
    }  # fmt: skip


def _short(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return "" if value != value else f"{value:.4g}"
    if isinstance(value, datetime.datetime):  # NaT is one too
        return "" if value != value else str(value.replace(tzinfo=None)).removesuffix(" 00:00:00")
    text = "" if value is None or str(value) == "<NA>" else str(value)
    return text if len(text) <= 60 else text[:59] + "…"


ENDS = {
    "solved": "solved: the conditions of an optimum hold",
    "epsilon": "ended by the test of the enclosing ball",
    "max_iter": "ended before it was solved, by the limit on steps",
    "time_limit": "ended before it was solved, by the time limit",
    "interrupted": "ended before it was solved, by Ctrl-C",
    "stalled": "ended before it was solved: rounding allowed no more progress",
}


def end_of(machine: Any) -> str:
    """How training ended, and what is proven about its result."""
    said = ENDS.get(machine.status_, machine.status_)
    if machine.status_ == "solved":
        said += f" to within tol = {machine.tol:g}"
    gap = float(getattr(machine, "duality_gap_", np.inf))
    if np.isfinite(gap):
        said += f"; the objective is proven to be within {max(100 * gap, 1e-4):.2g}% of the best possible one"
    return said


def run_facts(model: Any) -> dict[str, str]:
    machine = model.machine_
    facts = {"machine": re.sub(r"\d+\.\d{5,}(e[+-]?\d+)?", lambda number: f"{float(number[0]):.4g}", repr(machine))}
    if hasattr(machine, "status_"):
        facts["training"] = end_of(machine)
    if hasattr(machine, "n_iter_"):
        facts["steps of the solver"] = f"{machine.n_iter_:,}"
    support = getattr(machine, "support_", None)
    if support is not None:
        facts["support vectors"] = f"{len(support):,} of the {machine.shape_fit_[0]:,} training rows"
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
