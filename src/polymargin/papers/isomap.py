"""Silva and Ribeiro (2009), "Improving visualization, scalability and performance of multiclass problems with SVM
manifold learning", section 5: table 2 and the averages of figure 2.

Protocol: supervised Isomap with alpha = 0.65 and gamma the mean distance, to 10 dimensions (Toy) or 200 (ISOLET, 2,500
balanced training rows); new rows by a GRNN with spread 0.95; then a linear structured multiclass SVM. The baseline is
that SVM on the features themselves, SVM-multiclass with its default c = 0.01.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from sklearn.metrics import f1_score

from ..datasets import load
from ..manifold import SupervisedIsomap
from ..structured import StructuredSVC
from .exhibit import Exhibit, table
from .protocol import SEED, fitted

TABLE_2 = table(
    """
    Toy    | 48.65 | 38.55
    ISOLET | 19.63 | 12.44
    """,
    columns=("SVM", "Isomap + SVM"),
    measures=("error [%]",),
)
# Text of section 5.3: averages over the classes.
FIGURE_2 = table(
    """
    Toy    | 13.90, 11.49 | 10.67, 34.46
    ISOLET | 1.51, 79.15  | 0.96, 87.44
    """,
    columns=("SVM", "Isomap + SVM"),
    measures=("error [%]", "F1 [%]"),
)
DIMENSIONS = {"Toy": 10, "ISOLET": 200}


def rows(row: str, fast: bool) -> tuple:
    D = load(row.lower())
    X, y, X_test, y_test = D.X_train, D.y_train, D.X_test, D.y_test
    if row == "ISOLET":
        rng, classes = np.random.default_rng(SEED), np.unique(y)
        per_class = 10 if fast else 2500 / len(classes)
        ends = np.round(per_class * np.arange(len(classes) + 1)).astype(int)
        some = [rng.permutation(np.flatnonzero(y == c))[: ends[k + 1] - ends[k]] for k, c in enumerate(classes)]
        X, y = X[np.concatenate(some)], y[np.concatenate(some)]
    return (X, y, X_test[::10], y_test[::10]) if fast else (X, y, X_test, y_test)


@cache
def predicted(row: str, column: str, fast: bool) -> tuple[np.ndarray, np.ndarray]:
    """Labels of the test rows: true, predicted."""
    X, y, X_test, y_test = rows(row, fast)
    if column == "SVM":
        model = StructuredSVC(C=0.01, scaling="svm-multiclass", intercept="none")
        return y_test, fitted(model, X, y).predict(X_test)
    n_components = 5 if fast else DIMENSIONS[row]
    isomap = SupervisedIsomap(n_components=n_components, n_neighbors=10, alpha=0.65, gamma="mean", spread=0.95)
    Z = isomap.fit_transform(X, y)
    return y_test, fitted(StructuredSVC(C=1.0), Z, y).predict(isomap.transform(X_test))


def global_error(row: str, column: str, fast: bool) -> dict:
    y, found = predicted(row, column, fast)
    return {"error [%]": 100 * np.mean(found != y)}


def per_class(row: str, column: str, fast: bool) -> dict:
    """Error rate (b + c) / (a + b + c + d) and F1 of each class against the rest, averaged over the classes."""
    y, found = predicted(row, column, fast)
    classes = np.unique(y)
    errors = [np.mean((found == c) != (y == c)) for c in classes]
    return {"error [%]": 100 * np.mean(errors), "F1 [%]": 100 * f1_score(y, found, average="macro", labels=classes)}


PLACE = "Silva and Ribeiro 2009, EANN, CCIS 43, "
DECIDED = (
    "n_neighbors = 10 and C = 1 of the SVM after the map are not printed; they are the defaults here.",
    "Eq. 3 is read with the sign of Geng et al. (2005) in its second line; as printed most pairs have no distance.",
    "The baseline is that of the paper, SVM-multiclass with its default c = 0.01, which underfits: a linear machine "
    "with C = 1 has far smaller errors than either column.",
    "Toy has 53 features of which 45 are ever non-zero (the paper prints 47). ISOLET: 2,500 training rows, 96 or 97 of "
    "each letter, drawn with seed 0.",
    "Recall and precision are exchanged in the text of section 5.2; F1 does not depend on it.",
)
BASELINE = "At c = 0.01 nearly every row gets the largest class, an error of 49.65 %; the paper's c is not printed."
EXHIBITS = (
    Exhibit(
        paper="isomap",
        name="table 2",
        title="Global error of the SVM, without and with supervised Isomap",
        where=PLACE + "table 2",
        printed=TABLE_2,
        compute=global_error,
        own=("Isomap + SVM",),
        decided=DECIDED,
        reasons={("Toy", "SVM"): BASELINE},
    ),
    Exhibit(
        paper="isomap",
        name="figure 2",
        title="Error rate and F1 per class, averaged",
        where=PLACE + "figure 2, averages in the text of section 5.3",
        printed=FIGURE_2,
        compute=per_class,
        own=("Isomap + SVM",),
        decided=DECIDED,
        reasons={
            ("Toy", "SVM"): BASELINE,
            ("Toy", "Isomap + SVM", "F1 [%]"): "Four of the seven classes have 11 to 65 of the 2,000 test rows: a few "
            "rows are points of the average. With 20 neighbours and the spread chosen by leave-one-out it is 36.2 at "
            "an error of 38.1, but neither is printed, and none is tuned on the test rows here.",
        },
    ),
)
