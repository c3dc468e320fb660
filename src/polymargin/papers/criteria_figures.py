"""Figures of Wang, Xue and Chan (2008), drawn again."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..datasets import load, make_rings
from ..inspection.criterion_display import CriterionDisplay, criterion_surface, error_surface
from ..inspection.embedding_display import COLORS
from ..reductions.pairwise import PairwiseSVC
from ..selection.criteria import Criterion, CriterionForm
from ..selection.feature_scores import fisher_score, kolmogorov_smirnov_score, pearson_score
from ..selection.radius_margin import RadiusMarginSearch
from ..selection.search_cv import KernelSearchCV
from ..selection.separability import class_separability
from . import criteria
from .criteria_tables import exhibit
from .exhibit import Exhibit, new_figure, pair
from .protocol import SEED, fitted
from .store import recalled


def points(fast: bool) -> int:
    """Values of C and of sigma or gamma on a surface."""
    return 4 if fast else 16


def surface(ax: Any, x: np.ndarray, y: np.ndarray, values: np.ndarray, title: str) -> None:
    """A map of values over ln C (across) and a logarithm of the width."""
    ax.figure.colorbar(ax.contourf(x, y, values, levels=15, cmap="viridis"), ax=ax)
    ax.set(xlabel="ln C", ylabel="ln sigma", title=title)


# --- figure 1: errors of the pairs' machines and of the multiclass machine ---


@cache
def error_surfaces(row: str, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """ln C, ln sigma, and over (sigma, C) the errors on the test half of the multiclass machine and of all pairs."""
    X, y, X_test, y_test = criteria.half(row, 0)
    log_C, log_sigma = np.linspace(-4, 8, n), np.linspace(-3, 4, n)
    joint, pairs = np.empty((n, n)), np.empty((n, n))
    for i, sigma in enumerate(np.exp(log_sigma)):
        for j, C in enumerate(np.exp(log_C)):
            model = fitted(PairwiseSVC(C, loss="squared_hinge", gamma=1 / (2 * sigma**2), n_jobs=1), X, y)
            joint[i, j] = np.sum(model.predict(X_test) != y_test)
            F, errors = model.pair_decision_function(X_test), 0
            for k, (a, b) in enumerate(model.classes_[model.pairs_]):
                mine = (y_test == a) | (y_test == b)
                errors += np.sum(np.where(F[mine, k] > 0, a, b) != y_test[mine])
            pairs[i, j] = errors
    return log_C, log_sigma, joint, pairs


def error_sums(row: str, column: str, fast: bool) -> dict:
    """Correlation over a grid of C and sigma of the multiclass errors and the sum of the pairs' errors."""
    _, _, joint, pairs = error_surfaces(row, points(fast))
    return {"correlation": float(np.corrcoef(joint.ravel(), pairs.ravel())[0, 1])}


def draw_error_sums(fast: bool) -> Any:
    rows = ("Wine",) if fast else ("Wine", "Vowel")
    figure, axes = new_figure(len(rows), 2)
    for row, (left, right) in zip(rows, axes, strict=True):
        log_C, log_sigma, joint, pairs = error_surfaces(row, points(fast))
        surface(left, log_C, log_sigma, joint, f"{row}: multiclass errors")
        surface(right, log_C, log_sigma, pairs, f"{row}: errors of all pairs")
    return figure


# --- figures 2 and 4: test error and criterion; figure 3: separability and bound ---


def criterion_on(X: np.ndarray, y: np.ndarray, criterion: str) -> Criterion:
    return Criterion(X, np.unique(y, return_inverse=True)[1], np.ones(len(y)), CriterionForm(criterion))


def draw_criterion(criterion: str) -> Callable[[bool], Any]:
    """Figures 2 and 4: a criterion with the optimizer's path, and the error on the test half."""

    def draw(fast: bool) -> Any:
        row = "Wine" if fast else "Vowel"
        X, y, X_test, y_test = criteria.half(row, 0)
        path = criteria.search(X, y, criterion, "spherical").criterion_path_
        farthest = max(np.log(step["params"]["C"]) for step in path)
        log_C, log_gamma = np.linspace(-3, max(8, farthest + 1), points(fast)), np.linspace(-5, 3, points(fast))
        rows, labels = np.vstack([X, X_test]), np.concatenate([y, y_test])
        split = [(np.arange(len(y)), np.arange(len(y), len(labels)))]
        machine = PairwiseSVC(loss="squared_hinge")
        grid = KernelSearchCV(machine, C=np.exp(log_C), gamma=np.exp(log_gamma), cv=split, refit=False)
        errors = error_surface(fitted(grid, rows, labels))
        values = criterion_surface(criterion_on(X, y, criterion), log_C, log_gamma)
        figure, axes = new_figure(1, 2)
        CriterionDisplay(path, log_C, log_gamma, values, errors, criterion).plot(axes[0])
        axes[0, 0].set_title(f"{row}: log10 of criterion {criterion}")
        axes[0, 1].set_title(f"{row}: test error")
        return figure

    return draw


def draw_separability(fast: bool) -> Any:
    """Figure 3: total over between-class scatter, with K + I/C as in the bound, and the bound, for two classes."""
    X, y, *_ = criteria.half("Wine", 0)
    two = y != y.max()
    X, y = X[two], y[two]
    log_C, log_sigma = np.linspace(-4, 8, points(fast)), np.linspace(-3, 4, points(fast))
    inverse = np.empty((len(log_sigma), len(log_C)))
    for i, sigma in enumerate(np.exp(log_sigma)):
        s = class_separability(X, y, gamma=1 / (2 * sigma**2))
        ridge = np.exp(-log_C)  # K + I/C: its sums over a class and over all are 1/C times the number of rows larger
        inverse[i] = (s.total + (len(y) - 1) * ridge) / (s.between + ridge)
    bound = criterion_surface(criterion_on(X, y, "I"), log_C, np.log(0.5) - 2 * log_sigma)
    figure, axes = new_figure(1, 2)
    surface(axes[0, 0], log_C, log_sigma, np.log10(inverse), "log10 of 1 / separability")
    surface(axes[0, 1], log_C, log_sigma, np.log10(bound), "log10 of the radius-margin bound")
    return figure


# --- figures 5 and 6: the criterion and the test error while the search runs ---


def accepted(path: list[dict]) -> dict[int, dict]:
    """The point of each iteration: the first with its number; others are trials of the line search after it."""
    return {step["iteration"]: step for step in reversed(path)}


def draw_evolution(kernel: str) -> Callable[[bool], Any]:
    """Figures 5 and 6: the searches on the first five halves; each of their points is tested on all halves."""

    def draw(fast: bool) -> Any:
        n, run = 2 if fast else criteria.TESTED_ON, dict(n_starts=1, max_iter=4 if fast else 200)
        figure, [[left, right]] = new_figure(1, 2)
        for k, marker in zip(range(1 if fast else criteria.CHOSEN_ON), "os^vD", strict=False):
            X, y, *_ = criteria.half("Wine", k)
            steps = accepted(criteria.search(X, y, "I", kernel, **run).criterion_path_)
            errors = [criteria.error_of("Wine", "1vs1", **step["params"], n=n)[0] for step in steps.values()]
            for ax, values in ((left, [step["value"] for step in steps.values()]), (right, errors)):
                ax.plot(list(steps), values, f"{marker}-", color=COLORS[k], markersize=3, label=f"half {k + 1}")
        left.set(xlabel="iteration", ylabel="criterion I", title=f"Wine, {kernel} kernel: criterion")
        right.set(xlabel="iteration", ylabel="test error [%]", title=f"Wine, {kernel} kernel: test error")
        left.legend(fontsize="small")
        return figure

    return draw


# --- figure 7: two useful features and fifty of noise ---


def rings(row: str, column: str, fast: bool) -> dict:
    """In how many of 100 random halves the two useful of 52 features get the two largest g, and the means of g."""
    X, y = make_rings(random_state=SEED)
    found, gammas, trials = 0, [], 2 if fast else 100
    for k in range(trials):
        half = np.random.default_rng([SEED, k]).permutation(len(y))[: len(y) // 2]
        (Z,) = criteria.box(X[half])
        machine = PairwiseSVC(10.0, loss="squared_hinge")
        search = RadiusMarginSearch(machine, criterion="II", kernel="ellipsoidal", cv=None, refit=False, n_jobs=1)
        gammas.append(fitted(search, Z, y[half]).feature_weights_)
        found += set(np.argsort(gammas[-1])[-2:]) == {0, 1}
    return {"value": 100 * found / trials, "gamma": np.mean(gammas, axis=0).tolist()}


def draw_rings(fast: bool) -> Any:
    result = recalled("criteria-figure-7").get(("Rings", "II"), {})
    gamma = np.array(result["gamma"] if "gamma" in result else rings("Rings", "II", fast)["gamma"])
    X, y = make_rings(random_state=SEED)
    figure, axes = new_figure(1, 2)
    for c, (color, marker) in enumerate(zip(COLORS, "os^", strict=False)):
        axes[0, 0].plot(*X[y == c, :2].T, marker, color=color, markersize=3, label=f"class {c + 1}")
    axes[0, 0].set(xlabel="feature 1", ylabel="feature 2", title="The two useful features", aspect="equal")
    axes[0, 0].legend(loc="upper right", fontsize="x-small")
    axes[0, 1].bar(np.arange(1, len(gamma) + 1), gamma, color=np.where(np.arange(len(gamma)) < 2, COLORS[1], COLORS[0]))
    axes[0, 1].set(xlabel="feature", ylabel="mean gamma", title="Gammas by criterion II")
    return figure


# --- figures 9 and 10: pixels of digits ---

COUNTS = (5, 10, 20, 30, 50, 75, 100, 150, 200, 256)
RANKINGS = {
    "Fisher score": fisher_score,
    "Pearson correlation": pearson_score,
    "Kolmogorov-Smirnov test": kolmogorov_smirnov_score,
}


def pixel_weights(criterion: str, fast: bool) -> np.ndarray:
    few = dict(max_samples=150, max_iter=3, n_starts=1) if fast else {}
    return np.array(criteria.chosen_on_usps(criterion, "ellipsoidal", **few)["gamma"])


def draw_digits(fast: bool) -> Any:
    """The first rows of each digit."""
    X, _, y, _ = pixels(fast)
    figure, axes = new_figure(4, 10, 0.55, 0.55)
    for c, column in zip(np.unique(y), axes.T, strict=True):
        for ax, row in zip(column, X[y == c], strict=False):
            ax.imshow(row.reshape(16, 16), cmap="gray", vmin=-1, vmax=1)
            ax.set_axis_off()
    return figure


def draw_pixels(fast: bool) -> Any:
    figure, axes = new_figure(1, 2, 3.6, 3.2)
    for ax, criterion in zip(axes[0], ("I", "II"), strict=True):
        image = ax.imshow(pixel_weights(criterion, fast).reshape(16, 16), cmap="gray")
        figure.colorbar(image, ax=ax)
        ax.set(title=f"gamma of each pixel, criterion {criterion}", xticks=[], yticks=[])
    return figure


@cache
def pixels(fast: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """USPS: X, X_test, y, y_test."""
    D = load("usps")
    some = slice(400 if fast else None)
    X, X_test = criteria.box(D.X_train[some], D.X_test[some])
    return X, X_test, D.y_train[some], D.y_test[some]


@cache
def ranked_pixels(by: str, fast: bool) -> np.ndarray:
    """Pixels, best first, by the gammas of a criterion or by a score of single features."""
    X, _, y, _ = pixels(fast)
    weights = RANKINGS[by](X, y) if by in RANKINGS else pixel_weights(by, fast)
    return np.argsort(-weights, kind="stable")


def top_pixels(row: str, column: str, fast: bool) -> dict:
    """The test error of one-vs-one on the best pixels, by one machine for all rankings."""
    X, X_test, y, y_test = pixels(fast)
    p = criteria.chosen_on_usps("I", "spherical", **(dict(max_samples=150) if fast else {}))
    kept = ranked_pixels(column, fast)[: int(row.split()[0])]
    gamma = p["gamma"] * X.var(axis=0).sum() / X[:, kept].var(axis=0).sum()
    model = fitted(PairwiseSVC(p["C"], gamma=gamma, loss="squared_hinge"), X[:, kept], y)
    return {"error [%]": 100 - 100 * model.score(X_test[:, kept], y_test)}


def draw_top_pixels(fast: bool) -> Any:
    counts = COUNTS[2::3] if fast else COUNTS
    cells = recalled("criteria-figure-10")
    figure, axes = new_figure(1, 1, 6.0, 4.0)
    for by, color, marker in zip(("I", "II", *RANKINGS), COLORS, "os^vD", strict=False):
        places = [(f"{k} features", by) for k in counts]
        errors = [pair((cells.get(place) or top_pixels(*place, fast))["error [%]"])[0] for place in places]
        label = f"criterion {by}" if len(by) < 3 else by
        axes[0, 0].plot(counts, errors, marker=marker, markersize=4, color=color, label=label)
    axes[0, 0].set(xlabel="features", ylabel="test error [%]", title="USPS: the best pixels by five rankings")
    axes[0, 0].legend()
    return figure


# In the text: an error of 0.07 with the first 50 features, about 0.05 with all 256.
PRINTED_TOP = {("50 features", by, "error [%]"): (7.0, None) for by in ("I", "II")}
PRINTED_TOP |= {("256 features", by, "error [%]"): (5.0, None) for by in ("I", "II")}


def figure(number: int, title: str, draw: Any, where: str = "", **parts: Any) -> Exhibit:
    return exhibit(f"figure {number}", title, where, draw=draw, **parts)


GRID = (
    "The surface is for one half, with ln C from -4 to 8 and ln sigma from -3 to 4, because the paper does not print "
    "the limits of its axes."
)
ONE_HALF = "The surface is for one half."
HALVES = (
    "Each curve is the search on one of the first five halves, and errors are means over 100 halves. The paper shows "
    "one search and does not say on which half."
)
EXHIBITS = (
    figure(
        1,
        "Correlation of the multiclass errors and the sum of the pairs' errors over C and sigma",
        draw_error_sums,
        printed={
            ("Wine", "1vs1", "correlation"): (0.998, None),
            ("Vowel", "1vs1", "correlation"): (0.942, None),
        },
        compute=error_sums,
        own=("1vs1",),
        fast_rows=("Wine",),
        decided=(GRID,),
    ),
    figure(2, "Criterion I with the optimizer's path, and the test error", draw_criterion("I"), decided=(ONE_HALF,)),
    figure(
        3,
        "Class separability and radius-margin bound of the first two classes of Wine",
        draw_separability,
        decided=(GRID, "Both use K + I/C."),
    ),
    figure(4, "Criterion II with the optimizer's path, and the test error", draw_criterion("II"), decided=(ONE_HALF,)),
    figure(
        5, "Criterion I and test error while the search runs, one gamma", draw_evolution("spherical"), decided=(HALVES,)
    ),
    figure(
        6,
        "Criterion I and test error while the search runs, a gamma per feature",
        draw_evolution("ellipsoidal"),
        decided=(
            HALVES,
            "In the paper, the test error first rises, and is low again where the criterion has converged. Here this "
            "depends on the half: from 2.4%, two of the five searches go up to 2.9 and 3.3% and then down to 1.7 and "
            "1.6%, and a third ends at 1.5% (table VI prints 1.53%), but one ends at 2.6% and one at 3.7% (`python -m "
            "benchmarks.paper_checks evolution`). The medians of the five, after at most 33 iterations, have 2.1% "
            "(table 6).",
        ),
    ),
    figure(
        7,
        "Trials out of 100 in which criterion II finds the two useful of 52 features",
        draw_rings,
        where="section VI-C1 and figure 7",
        printed={("Rings", "II", "value"): (100.0, None)},
        compute=rings,
        own=("II",),
        decided=(
            "The radii are 1, 2 and 3, and N(0, 20) is read as a variance. Features are scaled to [-1, 1] by each "
            "half; the search starts at C = 10, as in the paper, from two gammas, until solved.",
        ),
    ),
    figure(8, "Digits of USPS", draw_digits, decided=("The figure shows the first four training rows of each digit.",)),
    figure(9, "Gammas of the pixels of USPS", draw_pixels, decided=("These are the gammas of table IX.",)),
    figure(
        10,
        "Test error on USPS with the best features by five rankings",
        draw_top_pixels,
        printed={
            (f"{k} features", by, "error [%]"): PRINTED_TOP.get((f"{k} features", by, "error [%]"), (None, None))
            for k in COUNTS
            for by in ("I", "II", *RANKINGS)
        },
        safe={"256 features": "with all features, no ranking matters"},
        compute=top_pixels,
        own=("I", "II"),
        fast_rows=("50 features",),
        decided=(
            "All rankings use one-vs-one with C and gamma of criterion I and the spherical kernel in table IX, with "
            "gamma divided by the features' share of the variance. Scores for several classes are means over classes "
            "(Pearson) or pairs of classes (Kolmogorov-Smirnov); the paper does not say.",
            "In the paper, both criteria rank better than the three scores. Here they do so from 20 to 100 features; "
            "with fewer or more, the order is mixed.",
        ),
    ),
)
