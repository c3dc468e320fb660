"""The data: each set is a function of a seed that gives training and test rows.

Real sets come from `polymargin.datasets.load` (the folder POLYMARGIN_DATA), digits from scikit-learn. Features are
scaled by the range of the training rows: images to [0, 1] with one range for all pixels, measurements to [-1, 1] with
one range per feature. A set without official test rows gives up 30 % of each class for them.

Artificial sets, after Jenssen et al. (2012), "Experiment on Controlled Artificial Data":

    circle-T    T Gaussians evenly on a circle, neighboring centers 1 apart, 5 training and 5 test points per class.
                The standard deviation, 0.35, is the one at which the error is near the paper's 14 to 24 % (the paper
                does not print it).
    tight-T     the same with standard deviation 0.2 (error near 2 %).
    checker-T   T fields of a checker board, side 1, one class each, 10 training and 10 test points per class, uniform
                on the field enlarged by 0.125 on every side, so that neighbors overlap (error near the paper's 40 %).
    rows-T      10,000 training rows that do not depend on T: 1,000 Gaussian clusters in 8 dimensions, cluster c
                labeled c mod T. For the cost of a step as the number of classes grows.

    text-T      100,000 training and 10,000 test documents over 50,000 words, about 50 distinct words each, CSR. Words
                follow Zipf's law; each class has a topic of 2,000 words, from which a document draws a share that
                varies from document to document, a third of it from another class's topic; 5 % of the labels are
                wrong. Rows are tf-idf vectors of length 1. For linear machines.

Seed 0 is measured; artificial sets are tuned on seeds 1 to 4, real sets on a part of their training rows.
"""

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from polymargin import datasets
from polymargin.datasets import Dataset


def scaled(D, low, per_feature):
    axis = 0 if per_feature else None
    a, b = D.X_train.min(axis=axis), D.X_train.max(axis=axis)
    width = np.where(b > a, b - a, 1)
    X_train, X_test = (low + (1 - low) * (X.astype(float) - a) / width for X in (D.X_train, D.X_test))
    return Dataset(D.name, X_train, D.y_train, X_test, D.y_test)


def digits():
    X, y = load_digits(return_X_y=True)
    p = np.random.default_rng(1).permutation(len(y))
    train, test = p[:1297], p[1297:]
    return scaled(Dataset("digits", X[train], y[train], X[test], y[test]), 0, False)


def parted(D, share):
    X_train, X_test, y_train, y_test = train_test_split(
        D.X_train, D.y_train, test_size=share, random_state=0, stratify=D.y_train
    )
    return Dataset(D.name, X_train, y_train, X_test, y_test)


def stored(name, low, per_feature):
    D = datasets.load(name)
    return scaled(parted(D, 0.3) if D.X_test is None else D, low, per_feature)


def drawn(make):
    """A Dataset of two draws of `make(T, random_state)`."""

    def draw(name, T, seed=0):
        rng = np.random.default_rng([seed, T])
        return Dataset(name, *make(T, rng), *make(T, rng))

    return draw


def rows(name, T, seed=0):
    X, y = datasets.make_clusters(T, random_state=[seed, 8])
    return Dataset(name, X[:10_000], y[:10_000], X[10_000:], y[10_000:])


def text(name, T, seed=0, n=100_000, n_test=10_000, words=50_000, length=47):
    rng = np.random.default_rng([seed, T, 7])
    zipf = np.cumsum(1 / (10 + np.arange(words)))
    short = np.cumsum(1 / (10 + np.arange(2000)))
    topics = np.array([rng.choice(words, 2000, replace=False) for _ in range(T)])
    m = n + n_test
    y = rng.integers(T, size=m)
    tokens = rng.poisson(length * rng.gamma(6, 1 / 6, size=m)) + 5
    document = np.repeat(np.arange(m), tokens)
    word = np.searchsorted(zipf, rng.random(len(document)) * zipf[-1])
    topical = np.flatnonzero(rng.random(len(document)) < rng.beta(1.5, 5, size=m)[document])
    topic = np.where(rng.random(len(topical)) < 1 / 3, rng.integers(T, size=len(topical)), y[document[topical]])
    word[topical] = topics[topic, np.searchsorted(short, rng.random(len(topical)) * short[-1])]
    at = document.astype(np.int32), word.astype(np.int32)
    X = sp.csr_array((np.ones(len(document)), at), shape=(m, words))
    X.sum_duplicates()
    found = np.bincount(X.indices, minlength=words)
    X.data = (1 + np.log(X.data)) * np.log((1 + m) / (1 + found))[X.indices]
    X.data /= np.repeat(np.sqrt(np.bincount(np.repeat(np.arange(m), np.diff(X.indptr)), X.data**2)), np.diff(X.indptr))
    wrong = rng.random(m) < 0.05
    y[wrong] = rng.integers(T, size=np.count_nonzero(wrong))
    return Dataset(name, X[:n], y[:n], X[n:], y[n:])


REAL = {
    "digits": digits,
    "satimage": lambda: stored("satimage", -1, True),
    "usps": lambda: stored("usps", 0, False),
    "letter": lambda: stored("letter", -1, True),
    **{
        name: lambda name=name: stored(name, -1, True)
        for name in ("iris", "wine", "glass", "thyroid", "vowel", "vehicle", "segment", "dna", "pendigits")
    },
}
ARTIFICIAL = {
    "circle": drawn(lambda T, rng: datasets.make_circle(T, 5, 0.35, rng)),
    "tight": drawn(lambda T, rng: datasets.make_circle(T, 5, 0.2, rng)),
    "checker": drawn(lambda T, rng: datasets.make_checker(T, 10, 0.125, rng)),
    "rows": rows,
    "text": text,
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
    return [parted(load(name), 0.25)]
