"""The small data sets of the reference optima: (X, y) with y in 0 .. T-1."""

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine


def unit_box(X):
    """Every feature mapped to [-1, 1]."""
    lo, hi = X.min(axis=0), X.max(axis=0)
    return 2 * (X - lo) / (hi - lo) - 1


def toy12():
    X = [(0, 0), (1, 0), (0, 1), (1.5, 1.5), (3, 0), (4, 0), (3, 1), (2, 0.5), (0, 3), (1, 4), (0, 4), (1, 2.5)]
    return np.array(X, float), np.repeat([0, 1, 2], 4)


def iris():
    X, y = load_iris(return_X_y=True)
    return unit_box(X), y


def iris12():
    """Iris without its first class (the scaling is that of all rows)."""
    X, y = iris()
    return X[y > 0], y[y > 0] - 1


def wine():
    X, y = load_wine(return_X_y=True)
    return unit_box(X), y


def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


def digits200():
    X, y = digits()
    return X[:200], y[:200]


def blobs(n_per_class, d, seed, spread=0.6):
    """Gaussian classes of the given sizes around random centers of norm about sqrt(d), rows shuffled."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(n_per_class)), n_per_class)
    X = rng.normal(size=(len(n_per_class), d))[y] + spread * rng.normal(size=(len(y), d))
    order = rng.permutation(len(y))
    return X[order], y[order]


def small():
    """Five overlapping classes of unequal size, and new rows."""
    X, y = blobs([9, 14, 7, 12, 10], 3, seed=5)
    return X, y, np.random.default_rng(6).normal(size=(40, 3))


def overlapping(n=300, d=3, T=3, seed=0, spread=0.9):
    """T overlapping classes of the same size."""
    return blobs([n // T] * T, d, seed, spread)


def endless(model, n=3000, **parameters):
    """A fit that takes very much longer than any test: noise, a huge C and a tiny tolerance."""
    return model.set_params(**dict(C=1e6, tol=1e-10, time_limit=60.0) | parameters), *overlapping(n, d=5, spread=3.0)


DATA = dict(toy12=toy12, iris=iris, iris12=iris12, wine=wine, digits=digits, digits200=digits200)
