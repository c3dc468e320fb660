"""Asharaf, Murty and Shevade (2007), "Multiclass core vector machine", section 5: tables 2 and 3, figures 1 to 3.

Protocol: Gaussian kernel exp(-q |x - z|^2) with the parameters of table 1; one fit, one test. SVM is one-against-one,
CVM one-against-one core vector machines, MCVM the joint machine with the ridge nu n and the ball test epsilon.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from ..core_vectors.classifier import CoreVectorSVC
from ..core_vectors.enclosing_ball import EnclosingBall
from ..datasets import load, make_gaussians
from ..reductions.pairwise import PairwiseSVC
from .exhibit import Exhibit, Place, Value, exhibits_of, new_figure, pair, rows_of, table, unprinted
from .one_of_59 import OneOf59
from .protocol import SEED, fitted, mean_and_deviation, timed
from .store import recalled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURES = ("support vectors", "train [s]", "accuracy [%]", "test [s]")
COLUMNS = ("SVM", "CVM", "MCVM")
TABLE_2 = table(
    """
    Synth 1 | 2338, 296, 99.548, 14    | 2722, 130, 98.8, 11       | 291, 10, 98.912, 4
    Synth 2 | 9326, 18276, 99.587, 414 | 2908, 23935, 95.531, 148  | 322, 29, 98.814, 35
    """,
    columns=COLUMNS,
    measures=MEASURES,
)
TABLE_3 = table(
    """
    Acoustic  | 51022, 5468, 70.109, 718   | 13186, 4984, 62.233, 113 | 1300, 4196, 68.876, 32
    Intrusion | 21714, 29486, 91.652, 1891 | 154, 220, 87.023, 24     | 187, 202, 91.671, 66
    """,
    columns=COLUMNS,
    measures=MEASURES,
)
# Table 1 of the paper: q of the SVM; q, epsilon, C of the CVM; q, epsilon, nu of the MCVM.
PARAMETERS = {
    "Synth 1": (0.2, (0.12, 10e-6, 0.05), (0.075, 1.5e-3, 9e-3)),
    "Synth 2": (0.2, (0.05, 10e-6, 500.0), (0.1, 7e-4, 9e-3)),
    "Acoustic": (0.02, (3.5, 1e-6, 1e4), (7.5, 2e-3, 9e-3)),
    "Intrusion": (0.026, (1e-3, 1e-6, 1e6), (10.0, 5e-3, 5e-3)),
}
SIZES = {"Synth 1": (100_000, 25_000), "Synth 2": (1_000_000, 200_000)}


@cache
def rows(row: str, fast: bool) -> tuple:
    """X, y, X_test, y_test; Intrusion is divided by the largest values of its columns, as the paper does."""
    if row in SIZES:
        n, m = (2000, 1000) if fast else SIZES[row]
        return *make_gaussians(n, [SEED, 1]), *make_gaussians(m, [SEED, 2])
    D = load({"Acoustic": "acoustic", "Intrusion": "kddcup99_10pct"}[row])
    top = np.abs(D.X_train).max(axis=0)
    X, X_test = (Z / np.where(top > 0, top, 1) for Z in (D.X_train, D.X_test))
    if not fast:
        return X, D.y_train, X_test, D.y_test
    some = np.random.default_rng(SEED).choice(len(X), 2000, replace=False)
    return X[some], D.y_train[some], X_test[::300], D.y_test[::300]


SEEDS = range(5)  # of the random samples: every cell of a core vector machine is a mean over these
PRINTED_CODE = "MCVM, code as printed"
STEPWISE = "MCVM, one of 59"


def build(row: str, column: str, seed: int = SEED) -> Any:
    svm, (q, epsilon, C), (q_joint, epsilon_joint, nu) = PARAMETERS[row]
    if column == "SVM":
        return PairwiseSVC(gamma=svm)
    if column == "CVM":
        return CoreVectorSVC(C, gamma=q, scheme="pairwise", tol=1e-2, random_state=seed)
    if column == STEPWISE:
        return OneOf59(nu, epsilon_joint, q_joint, seed)
    code: dict[str, Any] = dict(code="printed", intercept="regularized") if column == PRINTED_CODE else {}
    return CoreVectorSVC(nu=nu, epsilon=epsilon_joint, gamma=q_joint, random_state=seed, **code)


def trained(row: str, column: str, X: np.ndarray, y: np.ndarray, seed: int = SEED) -> Any:
    """The fitted machine. Most rows of Intrusion are repetitions: the SVM gets the distinct ones with their counts."""
    model = build(row, column, seed)
    if (row, column) != ("Intrusion", "SVM"):
        return fitted(model, X, y)
    Z = np.ascontiguousarray(np.column_stack([X, y]))
    whole = Z.view(np.dtype((np.void, Z[0].nbytes))).ravel()  # a row as one value, which sorts faster than columns
    _, first, count = np.unique(whole, return_index=True, return_counts=True)
    return fitted(model, X[first], y[first], count)


def beside(values: dict[Place, Value]) -> dict[Place, Value]:
    """The printed cells, and places for the printed code and the printed steps, which have no figures of their own."""
    for row in rows_of(values):
        values = values | unprinted((row,), (PRINTED_CODE,), "accuracy [%]") | unprinted((row,), (STEPWISE,), *MEASURES)
    return values


def compute(row: str, column: str, fast: bool) -> dict:
    X, y, X_test, y_test = rows(row, fast)
    # On the million rows of Synth 2 one fit of these two takes half an hour.
    seeds = SEEDS[:1] if column == "SVM" or (row == "Synth 2" and column in ("CVM", STEPWISE)) else SEEDS
    models = [trained(row, column, X, y, seed) for seed in seeds]
    accuracy = [100 * model.score(X_test, y_test) for model in models]
    n_support = [int(np.sum(model.n_support_)) for model in models]
    return {
        "accuracy [%]": mean_and_deviation(accuracy),
        "support vectors": mean_and_deviation(n_support),
        "status": models[0].status_,
    }


def clock(row: str, column: str, fast: bool, result: dict) -> dict:
    X, y, X_test, _ = rows(row, fast)
    seconds, model = timed(lambda: trained(row, column, X, y), clock=time.process_time)
    return {"train [s]": seconds, "test [s]": timed(lambda: model.predict(X_test), clock=time.process_time)[0]}


# ---- figure 1: the ball of a core set ------------------------------------------------------------

EPSILON = 0.15


def core_set(X: np.ndarray, epsilon: float) -> tuple[list[int], EnclosingBall]:
    """Badoiu and Clarkson's loop as the paper prints it: the farthest row joins until all are covered."""
    core = [0]
    while True:
        ball = EnclosingBall(kernel="linear", tol=1e-8).fit(X[core])
        distance = np.sqrt(-ball.score_samples(X))
        if distance.max() <= (1 + epsilon) * ball.radius_:
            return core, ball
        core.append(int(distance.argmax()))


def circle(ball: EnclosingBall) -> tuple[Any, float]:
    return ball.dual_coef_ @ ball.support_vectors_, ball.radius_


def draw_balls(fast: bool = False) -> Figure:
    from matplotlib.patches import Circle

    X = np.random.default_rng(4).normal(size=(60, 2))
    core, inner = core_set(X, EPSILON)
    exact, (center, radius) = EnclosingBall(kernel="linear", tol=1e-8).fit(X), circle(inner)
    figure, [[ax]] = new_figure(1, 1, 5.0, 5.0)
    ax.plot(*X.T, ".", color="0.4", label="rows")
    ax.plot(*X[core].T, "s", mfc="none", ms=10, color="#d55e00", label="core set")
    for (c, r), style, label in (
        (circle(exact), ":", "exact ball of all rows"),
        ((center, radius), "-", "ball of the core set"),
        ((center, (1 + EPSILON) * radius), "--", f"expanded by {EPSILON:.0%}"),
    ):
        ax.add_patch(Circle(c, r, fill=False, ls=style, color="#0072b2"))
        ax.plot([], [], style, color="#0072b2", label=label)  # in the legend a circle would be a rectangle
    ax.set(aspect="equal", title=f"{len(core)} core vectors; radius {radius:.4f}, exact {exact.radius_:.4f}")
    ax.autoscale_view()
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.05), ncols=2)
    return figure


# ---- figures 2 and 3: training time against the number of rows -----------------------------------

GROWTH = {"figure 2": ("Synth 2", (1000, 10_000, 100_000, 1_000_000))}
GROWTH["figure 3"] = ("Intrusion", (1000, 10_000, 100_000, 494_021))
CURVES = {"SVM": ("one-against-one SVM", "s--", "#d55e00"), "MCVM": ("multiclass core vectors", "o-", "#0072b2")}


def part(name: str, n: int, fast: bool) -> tuple[np.ndarray, np.ndarray]:
    """n of the training rows, drawn by class as the paper says."""
    X, y, *_ = rows(name, fast)
    if n < len(X):
        X, _, y, _ = train_test_split(X, y, train_size=n, random_state=SEED, stratify=y)
    return X, y


def number(row: str) -> int:
    """n of the row "n rows"."""
    return int(row.removesuffix(" rows").replace(",", ""))


@cache
def seconds(figure: str, n: int, column: str, fast: bool) -> float:
    """The processor seconds of training on n rows."""
    name = GROWTH[figure][0]
    X, y = part(name, n, fast)
    return timed(lambda: trained(name, column, X, y), clock=time.process_time)[0]


def growing(figure: str) -> tuple[Callable, Callable, Callable]:
    """What a figure computes, times and draws."""
    name, sizes = GROWTH[figure]

    def compute(row: str, column: str, fast: bool) -> dict:
        rows(name, fast)  # everything is measured by the clock, if the data are there
        return {}

    def measure(row: str, column: str, fast: bool, result: dict) -> dict:
        return {"value": seconds(figure, number(row), column, fast)}

    def draw(fast: bool) -> Figure:
        picture, [[ax]] = new_figure(1, 1, 5.0)
        cells = recalled(f"core-vector-{figure.replace(' ', '-')}")
        for column, (label, style, color) in CURVES.items():
            n = (1000, 2000) if fast else sizes
            done = [cells.get((f"{k:,} rows", column), {}).get("value") for k in n]
            values = [pair(v)[0] if v else seconds(figure, k, column, fast) for k, v in zip(n, done, strict=True)]
            ax.loglog(n, values, style, color=color, label=label)
        ax.set(xlabel="training rows", ylabel="processor seconds to train", title=name)
        ax.grid(alpha=0.3)
        ax.legend()
        return picture

    return compute, measure, draw


# ---- why the ratio of Synth 2 is above the printed one ---------------------------------------------

# The paper's SVM is LIBSVM 2.8. Its core sets are small: 322 rows for Synth 2, which takes a larger epsilon here.
PARTS: dict[str, Callable[[], Any]] = {
    "LIBSVM": lambda: SVC(gamma=PARAMETERS["Synth 2"][0]),
    "SVM": lambda: build("Synth 2", "SVM"),
    "MCVM": lambda: build("Synth 2", "MCVM"),
    "MCVM, epsilon = 0.005": lambda: build("Synth 2", "MCVM").set_params(epsilon=0.005),
}
PART_ROWS = ("10,000 rows", "100,000 rows")


def part_cell(row: str, column: str, fast: bool) -> dict:
    """Support vectors, and processor seconds of one fit: both by the same fit, as LIBSVM's takes long."""
    X, y = part("Synth 2", 1000 if fast else number(row), fast)
    seconds, model = timed(lambda: fitted(PARTS[column](), X, y), clock=time.process_time)
    return {"support vectors": int(np.sum(model.n_support_)), "value": seconds}


exhibit = exhibits_of("core-vector", "Asharaf, Murty and Shevade 2007, ICML, ")
DECIDED = (
    "q, nu, epsilon and C are those of the paper's table 1, with its ridge nu n and its ball test. MCVM is "
    "CoreVectorSVC, which draws samples of 59 rows for every eight core vectors, while the paper draws 59 for each. "
    '"MCVM, one of 59" takes the paper\'s steps one by one, in NumPy. Eq. 8, 9 and 11 are read as a product of <y, '
    "y'> and k.",
    "The ridge nu n is far above k(x, x), so rows outside the core set are almost equally far from the center until "
    "there are about 1 / epsilon core vectors. For Synth 1 that is 667, while the paper prints 291.",
    "MCVM uses the simplex code without a bias. The code as printed (plus signs, bias) has a separate column; with "
    "it, two classes do not repel each other. Cells of MCVM and CVM are means over the seeds 0 to 4, with their "
    "deviation (CVM on Synth 2: one seed). Times are processor seconds, those of MCVM and CVM with seed 0.",
    "The paper does not print the SVM's C; we use 1. The CVM has no bias, unlike eq. 5 of the paper, and stops at a "
    "certified gap of 1%, because its ball test of 1e-5 would not end.",
    "We disagree with the paper on CVM: there, MCVM is more accurate than CVM on every set, while here CVM is at least "
    "as accurate, though slower and with more support vectors. We do not know why. Where it stops is not the reason: "
    "on Synth 1, at gaps of 20, 50 and 90% instead of 1%, it has 14,888 to 15,645 support vectors and accuracies of "
    "99.46 to 99.47% (`python -m benchmarks.paper_checks gaps`).",
    "The paper does not print the means and covariances of Synth 1 and 2. We use ten unit Gaussians, spaced so that "
    "the best possible accuracy is that of the paper's SVM.",
    "Intrusion uses the 494,021 rows of the 10% file instead of 4,898,431, and its SVM is trained on the distinct "
    "rows with their counts as weights, which gives the same machine in less time: its 4.7 s, and not those of MCVM "
    "(0.6 s), make the ratio of Intrusion larger than printed. Acoustic needs the LIBSVM file.",
)


def times(number: int, title: str) -> Exhibit:
    name = f"figure {number}"
    compute, measure, draw = growing(name)
    counts = [f"{n:,} rows" for n in GROWTH[name][1]]
    return exhibit(
        name,
        title,
        name + ": a curve without numbers",
        printed=unprinted(counts, CURVES, "value"),
        compute=compute,
        clock=measure,
        draw=draw,
        own=("MCVM",),
        fast_rows=tuple(counts[:1]),
        decided=(*DECIDED, "The values are processor seconds of training on our computer."),
    )


EXHIBITS = (
    exhibit(
        "table 2",
        "Synthetic sets of 100,000 and 1,000,000 rows",
        printed=beside(TABLE_2),
        compute=compute,
        clock=clock,
        own=("MCVM",),
        reference="SVM",
        fast_rows=("Synth 1",),
        decided=(
            *DECIDED,
            "Two things have not been run on the 1,000,000 rows of Synth 2: the times of CVM, whose cell took half an "
            "hour, and the paper's single steps, which in NumPy take minutes of passes over all rows. On "
            "Synth 1 these steps end with 672 core vectors, as the ridge makes one expect, and not with 291.",
        ),
    ),
    exhibit(
        "table 3",
        "SensIT Vehicle (acoustic) and KDD intrusion detection",
        printed=beside(TABLE_3),
        compute=compute,
        clock=clock,
        own=("MCVM",),
        reference="SVM",
        reasons={
            ("Intrusion", "SVM"): (
                "The paper does not print C, and 1 is too small for such a wide kernel: with 30,000 of the rows, "
                "accuracy is 81.1% at C = 1, 91.9% at C = 100 and 92.0% at C = 10,000 (`python -m "
                "benchmarks.paper_checks intrusion`)."
            ),
            ("Intrusion", "MCVM"): (
                "The result depends on the sample: the seeds 0 to 4 give 91.9, 91.4, 81.0, 91.3 and 81.0%, and the "
                "paper has one run. The ball test stops with 246 core vectors, long before the gap is small. The "
                "paper's own steps, one row of 59 each (separate column), give 86.3 to 91.7% (`python -m "
                "benchmarks.paper_checks intrusion`)."
            ),
        },
        decided=DECIDED,
    ),
    exhibit(
        "figure 1",
        "The ball of a core set, and its expansion, which covers all rows",
        "figure 1: a drawing without numbers",
        draw=draw_balls,
        decided=(f"The rows are 60 draws from a Gaussian, and epsilon is {EPSILON}.",),
    ),
    times(2, "Training time against the number of rows, Synth 2"),
    times(3, "Training time against the number of rows, intrusion detection"),
    exhibit(
        "LIBSVM",
        "Training times on parts of Synth 2 compared with LIBSVM, the paper's SVM",
        "table 2, times of Synth 2",
        printed=unprinted(PART_ROWS, PARTS, "support vectors", "value"),
        compute=part_cell,
        own=("MCVM", "MCVM, epsilon = 0.005"),
        fast_rows=PART_ROWS[:1],
        decided=(
            "The rows are stratified parts of the training rows of Synth 2, and the values are processor seconds of "
            "training on one thread. LIBSVM is scikit-learn's SVC with a cache of 200 MB.",
            "On all 1,000,000 rows MCVM takes 5 s and our SVM 74 to 76 s (table 2, figure 2), a ratio of 0.065 to "
            "0.068; the printed 29 and 18,276 s give 0.0016. Both have become faster, the SVM more so. LIBSVM's time "
            "grows 62 times from Synth 1 to Synth 2 in the paper; compared with LIBSVM, extrapolated in this way "
            "from the 100,000 rows above, MCVM's ratio would be 0.002, near the printed one. Its core set is also "
            "larger than the paper's 322 rows: with an epsilon of 0.005 it is smaller and takes less than half the "
            "time.",
        ),
    ),
)
