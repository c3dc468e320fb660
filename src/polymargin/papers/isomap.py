"""Silva and Ribeiro (2009), "Improving visualization, scalability and performance of multiclass problems with SVM
manifold learning", section 5: table 2, figure 2 and its averages, figures 3 and 4.

Protocol: supervised Isomap with alpha = 0.65 and gamma the mean distance, to 10 dimensions (Toy) or 200 (ISOLET, 2,500
balanced training rows); new rows by a GRNN with spread 0.95; then a linear structured multiclass SVM. The baseline is
that SVM on the features themselves, SVM-multiclass with its default c = 0.01.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from sklearn.metrics import f1_score

from ..datasets import load
from ..inspection.embedding_display import COLORS, EmbeddingDisplay, principal
from ..manifold.isomap import SupervisedIsomap
from ..structured.classifier import StructuredSVC
from .exhibit import Place, Value, exhibits_of, new_figure, rows_of, table, unprinted
from .protocol import SEED, fitted, mean_and_deviation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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


DRAWS = 5  # of the 2,500 rows of ISOLET
COLUMNS = ("SVM", "Isomap + SVM")
CHAIN = "Isomap + SVM, c = 0.01"  # the default of SVM-multiclass after the map, too
LETTERS = 10  # of figures 3 and 4: a to j


def rows(row: str, fast: bool, draw: int = 0) -> tuple:
    D = load(row.lower())
    X, y, X_test, y_test = D.X_train, D.y_train, D.X_test, D.y_test
    if row == "ISOLET":
        rng, classes = np.random.default_rng(SEED + draw), np.unique(y)
        per_class = 10 if fast else 2500 / len(classes)
        ends = np.round(per_class * np.arange(len(classes) + 1)).astype(int)
        some = [rng.permutation(np.flatnonzero(y == c))[: ends[k + 1] - ends[k]] for k, c in enumerate(classes)]
        X, y = X[np.concatenate(some)], y[np.concatenate(some)]
    return (X, y, X_test[::10], y_test[::10]) if fast else (X, y, X_test, y_test)


def isomap(n_components: int) -> SupervisedIsomap:
    return SupervisedIsomap(n_components, n_neighbors=10, alpha=0.65, offset="inside", gamma="mean", spread=0.95)


@cache
def predicted(row: str, column: str, fast: bool, draw: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels of the test rows: true, predicted."""
    X, y, X_test, y_test = rows(row, fast, draw)
    # So small a c leaves nearly nothing of the objective to the weights: only a small gap determines them.
    default = StructuredSVC(C=0.01, scaling="svm-multiclass", intercept="none", tol=1e-7)
    if column == "SVM":
        return y_test, fitted(default, X, y).predict(X_test)
    Z, Z_test = embedded(row, fast, draw)
    return y_test, fitted(default if column == CHAIN else StructuredSVC(C=1.0), Z, y).predict(Z_test)


@cache
def embedded(row: str, fast: bool, draw: int) -> tuple[np.ndarray, np.ndarray]:
    """The map of the training rows, and of the test rows."""
    X, y, X_test, _ = rows(row, fast, draw)
    model = isomap(5 if fast else DIMENSIONS[row])
    return model.fit_transform(X, y), model.transform(X_test)


def beside(values: dict[Place, Value]) -> dict[Place, Value]:
    """The printed cells, and places for the chain at c = 0.01."""
    measures = dict.fromkeys(measure for _, _, measure in values)
    return values | unprinted(rows_of(values), (CHAIN,), *measures)


def averaged(measure: Callable, row: str, column: str, fast: bool) -> dict:
    """The measures of all draws: mean and standard deviation, where there is more than one."""
    draws = DRAWS if row == "ISOLET" and not fast else 1
    found = [measure(*predicted(row, column, fast, draw)) for draw in range(draws)]
    return {name: mean_and_deviation([result[name] for result in found]) for name in found[0]}


def of_classes(y: np.ndarray, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Error rate (b + c) / (a + b + c + d) and F1 of each class against the rest, in percent."""
    classes = np.unique(y)
    errors = np.array([np.mean((found == c) != (y == c)) for c in classes])
    return 100 * errors, 100 * f1_score(y, found, average=None, labels=classes, zero_division=0)


def global_error(row: str, column: str, fast: bool) -> dict:
    return averaged(lambda y, found: {"error [%]": 100 * np.mean(found != y)}, row, column, fast)


def per_class(row: str, column: str, fast: bool) -> dict:
    names = "error [%]", "F1 [%]"
    return averaged(lambda y, f: dict(zip(names, map(np.mean, of_classes(y, f)), strict=True)), row, column, fast)


def figure_2(fast: bool) -> Figure:
    """Bars per class, the first draw of ISOLET."""
    figure, axes = new_figure(2, 2, 5.5, 3.25, width_ratios=(1, 2.4))
    for at, row in enumerate(DIMENSIONS):
        panels = axes[:, at]
        for k, column in enumerate(COLUMNS):
            y, found = predicted(row, column, fast)
            classes = np.unique(y)
            names = [chr(96 + int(c)) if row == "ISOLET" else str(c) for c in classes]
            for panel, values in zip(panels, of_classes(y, found), strict=True):
                panel.bar(np.arange(len(classes)) + 0.4 * k - 0.2, values, 0.4, color=COLORS[1 - k], label=column)
                panel.set_xticks(np.arange(len(classes)), names)
        panels[0].set_title(f"{row}, test rows")
        panels[1].set_xlabel("class")
    axes[0, 0].set_ylabel("error rate [%]")
    axes[1, 0].set_ylabel("F1 [%]")
    axes[0, 0].legend(frameon=False)
    return figure


def letters(fast: bool) -> tuple:
    """Training and test rows of the first letters, their names, and a map of the training rows to the plane."""
    X, y, X_test, y_test = rows("ISOLET", fast)
    used, held = y <= LETTERS, y_test <= LETTERS
    names = np.array([chr(96 + c) for c in range(LETTERS + 1)])
    model = isomap(2).fit(X[used], y[used])
    return X[used], names[y[used].astype(int)], X_test[held], names[y_test[held].astype(int)], model


def panels(*parts: tuple) -> Figure:
    """Scatter plots side by side."""
    figure, row = new_figure(1, len(parts), 5.5, 5.0)
    for axes, (z, y, title) in zip(row[0], parts, strict=True):
        EmbeddingDisplay.from_data(z, y, title=title, ax=axes)
        axes.set_xlabel("first coordinate")
        axes.set_ylabel("second coordinate")
    return figure


def figure_3(fast: bool) -> Figure:
    X, y, _, _, model = letters(fast)
    before = principal(X, 2), y, "training rows before: principal components"
    return panels(before, (model.embedding_, y, "training rows after: the map has seen their letters"))


def figure_4(fast: bool) -> Figure:
    _, _, X_test, y_test, model = letters(fast)
    return panels((model.transform(X_test), y_test, "test rows, mapped without their letters"))


exhibit = exhibits_of("isomap", "Silva and Ribeiro 2009, ICANNGA, LNCS 5495, ")
DECIDED = (
    "The paper does not print n_neighbors and the C of the SVM after the map; 10 and 1 are our defaults. In "
    "cross-validation on the training rows of Toy (four draws of five folds), their error is 38.5%, and the "
    "smallest over 5 to 40 neighbors and C = 0.01 to 1000 is 38.0%. On those of ISOLET (three folds of the first "
    "draw), the error is 18.0% with 5 to 40 neighbors at any C of at least 0.1, to within a quarter of a point "
    "(`python -m benchmarks.paper_checks neighbors`).",
    "With eq. 3 as printed, sqrt(exp(-d^2 / gamma) - alpha) in the second line, most pairs of rows have no distance. "
    "Here only the sign of the exponent is corrected. Geng et al. (2005) also have alpha outside the root. With that "
    "reading, the default of this library, Toy has an error of 37.45% and an F1 of 30.25%, and ISOLET has 12.94 "
    "and 87.01% (`python -m benchmarks.isomap toy isolet`). We chose the reading after running both.",
    "The average of the seven error rates of Toy is 2/7 of the global error. The printed 13.90% fits the printed "
    "48.65%, but 10.67% belongs to a global error of 37.35%, not to the printed 38.55%, so they do not come from "
    "the same run.",
    "We disagree with the paper on what the map gains: there, it lowers the errors of the SVM, while a linear machine "
    "with C = 1 and without the map has 32.85% on Toy and 5.64% on ISOLET (first draw), less than with the map. The "
    "baseline is SVM-multiclass, as in the paper, which does not print its c, and its default c = 0.01 underfits "
    "(`python -m benchmarks.paper_checks baseline`).",
    '"Isomap + SVM, c = 0.01" is the whole chain with that default. It underfits after the map as well, on ISOLET '
    "far more than without the map, so the paper must have used another c after the map.",
    "Toy has 53 features, of which 45 are ever nonzero (the paper prints 47). ISOLET has 2,500 training rows, 96 or "
    "97 of each letter; figures are the mean and standard deviation of five draws (seeds 0 to 4). Their "
    "nearest-neighbor errors alone range from 12.4 to 14.5%.",
    "Recall and precision are swapped in the text of section 5.2, but F1 does not depend on this.",
)
PICTURES = (
    "The map to the plane is fitted to the training rows of these ten letters (the first draw of 2,500 rows); the "
    "paper does not say whether the other letters took part.",
    "The map has seen the letters of the training rows and separates shuffled ones too, so trust figure 4.",
)
BASELINE = (
    "The paper does not print its c. At SVM-multiclass's default of 0.01 almost every row is assigned to the largest "
    "class; at c = 140 the global error is the printed 48.65% and the error by class the printed 13.90%, with an "
    "F1 of 11.58% (`python -m benchmarks.paper_checks baseline`)."
)
EXHIBITS = (
    exhibit(
        "table 2",
        "Global error of the SVM, without and with supervised Isomap",
        printed=beside(TABLE_2),
        compute=global_error,
        own=("Isomap + SVM",),
        decided=DECIDED,
        reasons={("Toy", "SVM"): BASELINE},
    ),
    exhibit(
        "figure 2",
        "Error rate and F1 per class, averaged",
        "figure 2, averages in the text of section 5.3",
        printed=beside(FIGURE_2),
        compute=per_class,
        own=("Isomap + SVM",),
        draw=figure_2,
        decided=DECIDED,
        reasons={("Toy", "SVM"): BASELINE},
    ),
    exhibit(
        "figure 3",
        "Training rows of the first ten letters of ISOLET, before and after",
        draw=figure_3,
        decided=PICTURES,
    ),
    exhibit(
        "figure 4",
        "Test rows of the first ten letters of ISOLET",
        draw=figure_4,
        decided=PICTURES,
    ),
)
