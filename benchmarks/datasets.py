"""The data: each set is a function of a seed that gives training and test rows.

Real sets (digits comes with scikit-learn; the others are read from the folder POLYMARGIN_DATA, one `<name>.npz` with
X_train, y_train, X_test, y_test). Features are scaled by the range of the training rows: images to [0, 1] with one
range for all pixels, measurements to [-1, 1] with one range per feature.

Artificial sets, after Jenssen et al. (2012), "Experiment on Controlled Artificial Data":

    circle-T    T Gaussians evenly on a circle, neighbouring centres 1 apart, 5 training and 5 test points per class.
                The standard deviation, 0.35, is the one at which the error is near the paper's 14 to 24 % (the paper
                does not print it).
    tight-T     the same with standard deviation 0.2 (error near 2 %).
    checker-T   T fields of a checker board, side 1, one class each, 10 training and 10 test points per class, uniform
                on the field enlarged by 0.125 on every side, so that neighbours overlap (error near the paper's 40 %).
    rows-T      10,000 training rows that do not depend on T: 1,000 Gaussian clusters in 8 dimensions, cluster c
                labelled c mod T. For the cost of a step as the number of classes grows.

Seed 0 is measured; artificial sets are tuned on seeds 1 to 4, real sets on a part of their training rows.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass
class Dataset:
    name: str
    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    @property
    def n_classes(self):
        return len(np.unique(self.y_train))


class Missing(Exception):
    """A data set that is not on this machine, with the reason."""


def scaled(X_train, X_test, low, per_feature):
    axis = 0 if per_feature else None
    a, b = X_train.min(axis=axis), X_train.max(axis=axis)
    width = np.where(b > a, b - a, 1)
    return [low + (1 - low) * (X - a) / width for X in (X_train, X_test)]


def digits():
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    p = np.random.default_rng(1).permutation(len(y))
    train, test = p[:1297], p[1297:]
    return Dataset("digits", *_swap(*scaled(X[train], X[test], 0, False), y[train], y[test]))


def _swap(X_train, X_test, y_train, y_test):
    return X_train, y_train, X_test, y_test


def stored(name, low, per_feature):
    folder = os.environ.get("POLYMARGIN_DATA")
    if not folder:
        raise Missing(f"set POLYMARGIN_DATA to the folder that holds {name}.npz")
    path = Path(folder) / f"{name}.npz"
    if not path.exists():
        raise Missing(f"no file {path}")
    with np.load(path, allow_pickle=False) as z:
        X_train, X_test = z["X_train"].astype(float), z["X_test"].astype(float)
        y_train, y_test = z["y_train"], z["y_test"]
    return Dataset(name, *_swap(*scaled(X_train, X_test, low, per_feature), y_train, y_test))


def _drawn(name, draw, T, per_class):
    """A Dataset of `per_class` training and as many test points of each class, in random order."""

    def part(rng):
        y = rng.permutation(np.repeat(np.arange(T), per_class))
        return draw(rng, y), y

    def make(seed):
        rng = np.random.default_rng([seed, T])
        return Dataset(name, *part(rng), *part(rng))

    return make


def circle(name, T, spread, seed=0):
    radius = 0.5 / np.sin(np.pi / T)
    angle = 2 * np.pi * np.arange(T) / T
    centres = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    return _drawn(name, lambda rng, y: centres[y] + spread * rng.standard_normal((len(y), 2)), T, 5)(seed)


def checker(name, T, seed=0, overlap=0.125):
    side = int(np.ceil(np.sqrt(T)))
    fields = np.column_stack(np.divmod(np.arange(T), side)).astype(float)
    reach = 0.5 + overlap
    return _drawn(name, lambda rng, y: fields[y] + rng.uniform(-reach, reach, (len(y), 2)), T, 10)(seed)


def rows(name, T, seed=0):
    rng = np.random.default_rng([seed, 8])
    centres = rng.standard_normal((1000, 8))
    y = rng.permutation(np.repeat(np.arange(1000), 20))
    X = centres[y] + 0.3 * rng.standard_normal((len(y), 8))
    y %= T
    return Dataset(name, X[:10_000], y[:10_000], X[10_000:], y[10_000:])


REAL = {
    "digits": digits,
    "satimage": lambda: stored("satimage", -1, True),
    "usps": lambda: stored("usps", 0, False),
    "letter": lambda: stored("letter", -1, True),
}
ARTIFICIAL = {
    "circle": lambda name, T, seed: circle(name, T, 0.35, seed),
    "tight": lambda name, T, seed: circle(name, T, 0.2, seed),
    "checker": checker,
    "rows": rows,
}


def load(name, seed=0):
    """The data set called `name`: a real one, or `<family>-<number of classes>`."""
    if name in REAL:
        return REAL[name]()
    family, _, T = name.partition("-")
    if family not in ARTIFICIAL or not T.isdigit() or int(T) < 2:
        known = ", ".join([*REAL, *(f"{f}-<classes>" for f in ARTIFICIAL)])
        raise ValueError(f"unknown data set {name!r}; expected one of {known}")
    return ARTIFICIAL[family](name, int(T), seed)


def for_tuning(name):
    """Sets to choose C and gamma on; their validation rows are never measured.

    Artificial sets: four other draws. Real sets: a quarter of the training rows is held out.
    """
    if name not in REAL:
        return [load(name, seed) for seed in (1, 2, 3, 4)]
    from sklearn.model_selection import train_test_split

    D = load(name)
    parts = train_test_split(D.X_train, D.y_train, test_size=0.25, random_state=0, stratify=D.y_train)
    return [Dataset(name, *_swap(*parts))]
