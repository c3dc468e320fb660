"""The solvers: each row of SOLVERS is a classifier with fit and predict, and nothing else of it is timed.

    build(C, gamma)     makes the estimator (not timed)
    dtype               of the rows it is given; the conversion is not timed
    tuned_as            whose C and gamma it takes from CHOSEN: solvers of one and the same problem share them

All use the RBF kernel exp(-gamma |x - z|^2) and stop at the tolerance 1e-3 that is everyone's default. LIBSVM is the
one inside scikit-learn (dense rows; the official binding is slower) and gets a kernel cache of 1 GB. A solver whose
library is not installed is skipped with that reason.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Solver:
    name: str
    what: str
    library: str
    tuned_as: str
    dtype: str
    build: Callable

    def missing(self):
        """Why this solver cannot run here, or None."""
        try:
            importlib.import_module(self.library)
        except ImportError as error:
            return f"{self.library} is not installed ({error})"
        return None


def scatter(C, gamma):
    from polymargin import JointSVC

    return JointSVC(machine="scatter", C=C, gamma=gamma)


def svc(C, gamma):
    from sklearn.svm import SVC

    return SVC(C=C, gamma=gamma, cache_size=1000)


def one_vs_rest(n_jobs):
    def build(C, gamma):
        from sklearn.multiclass import OneVsRestClassifier

        return OneVsRestClassifier(svc(C, gamma), n_jobs=n_jobs)

    return build


def onedal(C, gamma):
    from sklearnex.svm import SVC

    return SVC(C=C, gamma=gamma, cache_size=1000)


SOLVERS = {
    s.name: s
    for s in (
        Solver("scatter", "polymargin, all classes jointly", "polymargin", "scatter", "float32", scatter),
        Solver("ovo", "scikit-learn SVC, one-versus-one LIBSVM", "sklearn", "ovo", "float64", svc),
        Solver("ovr-1", "one-vs-rest LIBSVM, one process", "sklearn", "ovr", "float64", one_vs_rest(1)),
        Solver("ovr-all", "one-vs-rest LIBSVM, a process per core", "sklearn", "ovr", "float64", one_vs_rest(-1)),
        Solver("onedal-32", "sklearnex SVC, one-versus-one, float32", "sklearnex", "ovo", "float32", onedal),
        Solver("onedal-64", "sklearnex SVC, one-versus-one, float64", "sklearnex", "ovo", "float64", onedal),
    )
}

# (C, gamma) by data set or family of sets, then by `tuned_as`; README.md says how they were chosen.
CHOSEN = {
    "digits": {"scatter": (1.0, 0.8), "ovo": (1.0, 0.4), "ovr": (100.0, 0.05)},
    "satimage": {"scatter": (10.0, 8.0), "ovo": (10.0, 1.0), "ovr": (10.0, 1.0)},
    "usps": {"scatter": (10.0, 0.1), "ovo": (10.0, 0.05), "ovr": (10.0, 0.05)},
    "letter": {"scatter": (1.0, 8.0), "ovo": (10.0, 2.0), "ovr": (10.0, 2.0)},
    "circle": {"scatter": (0.3, 1.0), "ovo": (0.1, 1.0), "ovr": (1.0, 2.0)},
    "tight": {"scatter": (0.1, 1.0), "ovo": (0.1, 1.0), "ovr": (0.1, 2.0)},
    "checker": {"scatter": (0.3, 0.3), "ovo": (0.1, 0.1), "ovr": (100.0, 0.3)},
    "rows": {"scatter": (1.0, 0.5)},
}

# What `--tune` searches: C, and gamma by data set or family.
GRID_C = (0.1, 0.3, 1.0, 10.0, 100.0)
GRID_GAMMA = {
    "digits": (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8),
    "satimage": (0.3, 1.0, 2.0, 4.0, 8.0),
    "usps": (0.01, 0.02, 0.05, 0.1, 0.2),
    "letter": (0.5, 1.0, 2.0, 4.0, 8.0),
    "circle": (0.1, 0.3, 1.0, 2.0, 4.0),
    "tight": (0.1, 0.3, 1.0, 2.0, 4.0),
    "checker": (0.1, 0.3, 1.0, 2.0, 4.0),
}


def family(dataset_name):
    return dataset_name.partition("-")[0]


def chosen(solver, dataset_name):
    return CHOSEN[family(dataset_name)][solver.tuned_as]


def n_support(model):
    """How many training rows the model keeps, each counted once; None where the model does not tell."""
    if hasattr(model, "support_"):
        return len(model.support_)
    if hasattr(model, "estimators_"):
        parts = [e.support_ for e in model.estimators_ if hasattr(e, "support_")]
        return len(np.unique(np.concatenate(parts))) if parts else None
    return None
