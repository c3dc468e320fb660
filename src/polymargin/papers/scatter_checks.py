"""What Jenssen et al. (2012) leave open, tried: other losses, class priors in the mean, and Dna as two classes."""

from __future__ import annotations

import numpy as np

from ..selection.distances import squared_distances
from .exhibit import unprinted
from .prior_scatter import PriorScatter
from .protocol import coarse_to_fine, evaluator, mean_and_deviation
from .scatter import KAPPA, exhibit, rows, searched
from .scatter_tables import TABLE_5

CS = 10.0 ** np.arange(-2, 4)
STEPS = (2.0, 1.0)
SHOWN, BALANCED = "test accuracy [%]", "balanced accuracy [%]"

# ---- Dna: exon to intron boundaries against the rest ---------------------------------------------

EI = 1  # the label of these rows


def two_classes(row: str, column: str, fast: bool) -> dict:
    """Table 5 on Dna with one class against the rest, chosen by the test rows as there."""
    X, y, splits = rows("Dna")
    y = np.where(y.astype(int) == EI, 1, 0)
    if fast:
        splits = [(train[::5], test[::5]) for train, test in splits]
    return {SHOWN: searched(column, X, y, splits, "fast" if fast else "large")["accuracy [%]"]}


# ---- three losses --------------------------------------------------------------------------------

LOSSES = {"hinge": "scatter", "squared hinge": "scatter, squared hinge", "logistic": "scatter, logistic"}


def losses(row: str, column: str, fast: bool) -> dict:
    X, y, splits = rows(row)
    evaluate = evaluator(LOSSES[column], X, y, splits[:2] if fast else splits, CS[::3] if fast else CS)
    kappa, c, accuracy = coarse_to_fine(evaluate, *KAPPA, (4.0,) if fast else STEPS)
    return {SHOWN: mean_and_deviation(accuracy), "kappa": kappa}


# ---- class priors in the mean --------------------------------------------------------------------

WEIGHTS = ("equal weights", "priors in the mean")


PRIOR_CS, PRIOR_KAPPAS = (1.0, 10.0, 100.0), (-6, -4, -2, 0, 2)


def with_priors(row: str, column: str, fast: bool) -> dict:
    """The best ten-fold accuracy, and the best mean of the classes' accuracies, over C and kappa."""
    X, y, splits = rows(row)
    index, D2 = np.unique(y, return_inverse=True)[1], squared_distances(X)
    splits = splits[:2] if fast else splits
    grid = [(kappa, C) for kappa in PRIOR_KAPPAS[:: 2 if fast else 1] for C in PRIOR_CS]
    values = np.empty((2, len(grid), len(splits)))
    for g, (kappa, C) in enumerate(grid):
        K = np.exp(-(2.0**kappa) * D2)
        for k, (train, test) in enumerate(splits):
            there, labels = np.unique(index[train], return_inverse=True)
            share = np.bincount(labels) / len(labels)
            P = share if column == WEIGHTS[1] else np.full(len(there), 1 / len(there))
            model = PriorScatter(C, P).fit(K[np.ix_(train, train)], labels)
            right = there[model.predict(K[np.ix_(test, train)])] == index[test]
            values[0, g, k] = 100 * right.mean()
            values[1, g, k] = 100 * np.mean([right[index[test] == c].mean() for c in np.unique(index[test])])
    best = [v[v.mean(axis=1).argmax()] for v in values]
    return dict(zip((SHOWN, BALANCED), map(mean_and_deviation, best), strict=True))


DNA = {(row, column, SHOWN): value for (row, column, _), value in TABLE_5.items() if row == "Dna"}
EXHIBITS = (
    exhibit(
        "dna as two classes",
        "Dna, exon to intron boundaries (EI) against the rest",
        "table 5",
        printed=DNA,
        compute=two_classes,
        own=("Scatter",),
        decided=(
            "These cells are not judged, because the class was chosen after looking at the three classes one by one. "
            "The grid and the selection are those of table 5.",
            'The text of table 7 calls the set "binary". With these two classes the four machines come close to '
            "their printed figures, but naive Bayes does not.",
        ),
    ),
    exhibit(
        "losses",
        "Scatter SVM with the three losses that the paper derives",
        "eq. 15 to 17, without figures",
        printed=unprinted(("Iris", "Wine", "Glass"), LOSSES, SHOWN),
        compute=losses,
        own=("hinge",),
        fast_rows=("Iris",),
        decided=(
            "The figures are the best ten-fold accuracy over six C from 0.01 to 1000 and kappa in steps of 2, then "
            "1, so the hinge may be slightly below table 5. The losses differ by at most one row of a fold: on these "
            "sets, the choice of C and kappa makes up for the loss.",
        ),
    ),
    exhibit(
        "priors",
        "Scatter SVM with class priors in the mean of the prototypes",
        "text after eq. 6: mentioned but not pursued",
        printed=unprinted(("Wine", "Glass"), WEIGHTS, SHOWN, BALANCED),
        compute=with_priors,
        own=WEIGHTS[1:],
        fast_rows=("Wine",),
        decided=(
            "P_c is the share of the class, used in the mean of the prototypes and in the sum over classes. There is "
            "no bias; the grid has three C from 1 to 100 and kappa = -6, -4 .. 2. The balanced accuracy is the mean "
            "of the accuracies of the classes, and each column is the best of the grid by its own measure. On these "
            "sets class priors change less than a point, far less than the deviation over the folds, even on Glass "
            "with 9 to 76 rows per class. That is no case for using them.",
        ),
    ),
)
