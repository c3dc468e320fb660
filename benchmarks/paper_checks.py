"""Single runs behind remarks on docs/papers.md: what a figure depends on, where no table of the page shows it.

python -m benchmarks.paper_checks                  runs all of them, most in less than a minute of one core each
python -m benchmarks.paper_checks sixths codes     runs two of them

Each prints the figures of its remark, which names it. Times are processor seconds of one thread.
"""

import json
import os
import sys
import time
from functools import partial

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is loaded

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.papers import stored_runs
from polymargin import PairwiseSVC, StructuredSVC, SupervisedIsomap
from polymargin.datasets import load
from polymargin.papers import core_vector, criteria, criteria_figures, isomap, kesler, scatter, scatter_galleries
from polymargin.papers.exhibit import rows_of
from polymargin.papers.protocol import METHODS, coarse_to_fine, evaluator, fitted, folds, grid_accuracy, scaled, timed


def chosen(exhibit, row, column):
    """The parameters of a stored cell."""
    runs = {(r["exhibit"], r["row"], r["column"]): r["parameters"] for r in stored_runs()}
    return json.loads(runs[exhibit, row, column])


def machines():
    """Table 1 of the scatter paper: two of the 10,000 one-vs-rest machines, and times of both methods."""
    _, X, y, *_ = scatter.drawn("circle, 10,000 classes", 0)
    parameters = chosen("scatter-table-1", "circle, 1,000 classes", "OVR")
    for c in np.unique(y)[:2]:
        model = PairwiseSVC(**parameters, memory="4GB")
        seconds, _ = timed(lambda model=model, c=c: fitted(model, X, y == c), 0.0, time.process_time)
        print(f"  class {c} against the rest: {seconds:.2f} s")

    for row in ("circle, 100 classes", "checker, 1,000 classes", "circle, 1,000 classes"):
        _, X, y, X_val, _ = scatter.drawn(row, 0)
        for column in ("OVR", "Scatter"):
            seconds, _ = scatter.timed_run(column, chosen("scatter-table-1", row, column), X, y, X_val)
            print(f"  {row}, {column}: {seconds:.3f} s")


def part_of_the_grid(column, X, y):
    """The best ten-fold accuracy over three C and kappa in steps of 2, then 1."""
    evaluate = evaluator(scatter.METHOD[column], X, y, scatter.folds(len(y)), scatter.CS[4:9:2])
    return coarse_to_fine(evaluate, *scatter.KAPPA, (2.0, 1.0))[2].mean()


def mnist():
    """Tables 3 and 5 of the scatter paper: 2,000 rows of the digits 0 to 4, drawn from either part of MNIST."""
    D = load("mnist")
    parts = {"training rows": (D.X_train, D.y_train), "test rows": (D.X_test, D.y_test)}
    parts["all rows"] = tuple(np.concatenate(pair) for pair in zip(*parts.values(), strict=True))
    draws = (("training rows", 2), ("all rows", 1), ("test rows", 3))
    for name, seed in ((name, seed) for name, count in draws for seed in range(count)):
        X, y = parts[name]
        y = np.asarray(y, dtype=int)
        some = np.random.default_rng(seed).choice(np.flatnonzero(y < 5), 2000, replace=False)
        found = [f"{c} {part_of_the_grid(c, scatter.unit_rows(X[some]), y[some]):.2f} %" for c in ("OVO", "Scatter")]
        print(f"  {name}, seed {seed}: {', '.join(found)}")


def sixths():
    """Table 6 of the scatter paper: the six sixths of its MNIST rows."""
    X, y = scatter.mnist()
    for column in ("Scatter", "OVO", "OVR"):
        found = [part_of_the_grid(column, X[k::6], y[k::6]) for k in range(6)]
        print(f"  {column}: {', '.join(f'{a:.1f}' for a in found)} %")


def computed():
    """Figure 14 of the scatter paper: times with 100 classes and an RBF kernel of the pixels."""
    P, y, Q, y_test = scatter_galleries.pictures(100)
    X, X_test = P.reshape(len(P), -1), Q.reshape(len(Q), -1)
    for column, method in scatter.METHOD.items():
        model = METHODS[method](C=scatter_galleries.C, gamma=scatter_galleries.GAMMA, n_jobs=1)
        fit, _ = timed(lambda model=model: model.fit(X, y), 0.5, time.process_time)
        predict, found = timed(lambda model=model: model.predict(X_test), 0.5, time.process_time)
        n_support, error = int(np.sum(model.n_support_)), 100 * np.mean(found != y_test)
        print(f"  {column}: train {1000 * fit:.0f} ms, test {1000 * predict:.0f} ms", end=", ")
        print(f"{n_support:,} support vectors, {error:.1f} % wrong")


def draws():
    """Table 2 of the Kesler paper: the best error on iris, draw by draw."""
    D = scaled("iris")
    for seed in range(kesler.DRAWS):
        splits = folds(D.y_train, seed=seed)
        accuracy = grid_accuracy(
            "kesler, linear cost", D.X_train, D.y_train, splits, 1 / (2 * kesler.SIGMAS), kesler.CS
        )
        print(f"  seed {seed}: {100 - accuracy.mean(axis=2).max():.2f} %")


def milliseconds():
    """Table 2 of the Kesler paper: fits of one-vs-rest at its best parameters, and of the quickest fit there is."""
    for row in ("glass", "thyroid"):
        D, p = scaled(row), chosen("kesler-table-2", row, "one-vs-rest")
        model, train = METHODS["one-vs-rest"](C=p["C"], gamma=1 / (2 * p["sigma"])), folds(D.y_train)[0][0]
        call = partial(model.fit, D.X_train[train], D.y_train[train])
        print(f"  {row}: {1000 * timed(call, 0.5, time.process_time)[0]:.2f} ms")
    X, y = np.random.default_rng(0).normal(size=(6, 9)), np.repeat([0, 1, 2], 2)
    model = METHODS["kesler, linear cost"]()
    print(f"  six rows: {1000 * timed(lambda: model.fit(X, y), 0.5, time.process_time)[0]:.2f} ms")


def accuracies():
    """Own solvers of the Kesler paper: times on a fold, in proportion to one-vs-rest, by the gap they stop at."""
    for row in rows_of(kesler.PRINTED):
        D = scaled(row)
        X, y = (part[folds(D.y_train)[0][0]] for part in (D.X_train, D.y_train))

        def seconds(model, X=X, y=y):
            return timed(partial(fitted, model, X, y), clock=time.process_time)[0]

        base = seconds(kesler.own_model(row, "one-vs-rest", chosen("kesler-own-solvers", row, "one-vs-rest")))
        for name in ("M-1-SMO", "M-1-KSK"):
            for tol in (0.1, 0.01):
                model = kesler.own_model(row, name, chosen("kesler-own-solvers", row, name), tol)
                ratio = seconds(kesler.first_solved(model, X, y)) / base
                print(f"  {row}, {name}, gap {tol:g}: {ratio:.1f} times, {model.status_}")


def evolution():
    """Figure 6 of the criteria paper: test errors before, in the middle and at the end of the search of each half."""
    limit = int(np.ceil(criteria.EFFORT["Wine", "I", "iterations"][0]))
    for k in range(criteria.CHOSEN_ON):
        X, y, *_ = criteria.half("Wine", k)
        path = criteria.search(X, y, "I", "ellipsoidal", n_starts=1, max_iter=200).criterion_path_
        steps = criteria_figures.accepted(path)
        shown = sorted({0, 5, limit // 3, limit, max(steps)})
        errors = {i: criteria.error_of("Wine", "1vs1", **steps[i]["params"], n=criteria.TESTED_ON)[0] for i in shown}
        print(f"  half {k}: {', '.join(f'{e:.2f} % after {i}' for i, e in errors.items())}")


def pixels():
    """Table IX of the criteria paper: an evaluation of criterion I with a gamma per pixel, and a whole search."""
    D = load("usps")
    (X,) = criteria.box(D.X_train)
    for n in (1500, 3000):
        run = dict(max_samples=n, random_state=0, memory="4GB", n_jobs=1, n_starts=1, max_iter=5)
        seconds, found = timed(
            lambda run=run: criteria.search(X, D.y_train, "I", "ellipsoidal", **run), 0.0, time.process_time
        )
        print(f"  {n:,} rows: {seconds / found.n_evaluations_:.2f} s an evaluation")
    run = dict(max_samples=3000, random_state=0, memory="4GB", n_jobs=1)
    seconds, _ = timed(lambda: criteria.search(X, D.y_train, "I", "ellipsoidal", **run), 0.0, time.process_time)
    print(f"  a search on 3,000 rows: {seconds:.0f} s")


def copies():
    """Tables VI and VII of the criteria paper: Satimage by criterion II with the iterations that are printed there."""
    limit = int(np.ceil(criteria.EFFORT["Satimage", "II", "iterations"][0]))
    found = []
    for k in range(criteria.CHOSEN_ON):
        X, y, *_ = criteria.half("Satimage", k)
        found.append(criteria.search(X, y, "II", "ellipsoidal", n_starts=1, max_iter=limit).best_params_)
    C, gamma = (np.median([p[name] for p in found], axis=0) for name in ("C", "gamma"))
    for method in criteria.METHODS:
        error = criteria.error_of("Satimage", method, float(C), gamma, criteria.TESTED_ON)
        print(f"  {method}: {np.ravel(error)[0]:.2f} %")


def intrusion():
    """Table 3 of the core vector paper: MCVM seed by seed, and the SVM at three C on 30,000 rows."""
    X, y, X_test, y_test = core_vector.rows("Intrusion", False)
    for column in ("MCVM", core_vector.STEPWISE):
        models = [core_vector.trained("Intrusion", column, X, y, seed) for seed in core_vector.SEEDS]
        found = [f"{100 * m.score(X_test, y_test):.1f} % ({int(np.sum(m.n_support_))} core vectors)" for m in models]
        print(f"  {column}, seeds 0 to 4: {', '.join(found)}")
    X, _, y, _ = train_test_split(X, y, train_size=30_000, random_state=0, stratify=y)
    for C in (1.0, 100.0, 10_000.0):
        model = fitted(core_vector.build("Intrusion", "SVM").set_params(C=C), X, y)
        print(f"  SVM, C = {C:g}: {100 * model.score(X_test, y_test):.1f} %")


def gaps():
    """Table 2 of the core vector paper: CVM on Synth 1, stopped at larger gaps."""
    X, y, X_test, y_test = core_vector.rows("Synth 1", False)
    for tol in (0.2, 0.5, 0.9):
        model = fitted(core_vector.build("Synth 1", "CVM").set_params(tol=tol), X, y)
        n_support, accuracy = int(np.sum(model.n_support_)), 100 * model.score(X_test, y_test)
        print(f"  gap {tol:.0%}: {n_support:,} support vectors, {accuracy:.2f} %")


def cross_validated(row, splits, n_neighbors, Cs):
    """Errors over the folds of the map with so many neighbors and StructuredSVC, for each C."""
    X, y, *_ = isomap.rows(row, False)
    errors = np.zeros((len(Cs), len(splits)))
    for k, (a, b) in enumerate(splits):
        how = dict(alpha=0.65, offset="inside", gamma="mean", spread=0.95)
        model = SupervisedIsomap(isomap.DIMENSIONS[row], n_neighbors=n_neighbors, **how)
        Z, Z_test = model.fit_transform(X[a], y[a]), model.transform(X[b])
        errors[:, k] = [np.mean(fitted(StructuredSVC(C), Z, y[a]).predict(Z_test) != y[b]) for C in Cs]
    return 100 * errors.mean(axis=1)


def neighbors():
    """Table 2 of the Isomap paper: cross-validated errors by the number of neighbors and C, and nearest neighbors."""
    for row, n_folds, seeds, Cs in (
        ("Toy", 5, range(4), (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)),
        ("ISOLET", 3, range(1), (0.1, 1.0, 10.0)),
    ):
        y = isomap.rows(row, False)[1]
        splits = [split for seed in seeds for split in folds(y, n_folds, seed)]
        for n_neighbors in (5, 10, 20, 40):
            found = cross_validated(row, splits, n_neighbors, Cs)
            at = ", ".join(f"C = {C:g} {e:.1f} %" for C, e in zip(Cs, found, strict=True))
            print(f"  {row}, {n_neighbors} neighbors: {at}")
    found = []
    for draw in range(isomap.DRAWS):
        X, y, X_test, y_test = isomap.rows("ISOLET", False, draw)
        found.append(100 - 100 * KNeighborsClassifier(1).fit(X, y).score(X_test, y_test))
    print(f"  ISOLET, nearest neighbor: {', '.join(f'{e:.1f}' for e in found)} %")


def baseline():
    """Table 2 and figure 2 of the Isomap paper: SVM-multiclass on Toy at several c, and C = 1 without the map."""
    X, y, X_test, y_test = isomap.rows("Toy", False)
    for c in (0.01, 1.0, 100.0, 140.0, 200.0):
        model = fitted(StructuredSVC(c, scaling="svm-multiclass", intercept="none", tol=1e-7), X, y)
        found = model.predict(X_test)
        error, F1 = (values.mean() for values in isomap.of_classes(y_test, found))
        print(f"  c = {c:g}: {100 * np.mean(found != y_test):.2f} %, by class {error:.2f} %, F1 {F1:.2f} %")
    for row in ("Toy", "ISOLET"):
        X, y, X_test, y_test = isomap.rows(row, False)
        print(f"  {row}, C = 1: {100 - 100 * fitted(StructuredSVC(1.0), X, y).score(X_test, y_test):.2f} %")


CHECKS = (
    *(machines, mnist, sixths, computed, draws, milliseconds, accuracies, evolution, pixels, copies),
    *(intrusion, gaps, neighbors, baseline),
)


if __name__ == "__main__":
    known = {check.__name__: check for check in CHECKS}
    wrong = set(sys.argv[1:]) - set(known)
    if wrong:
        sys.exit(f"expected checks among {', '.join(known)}, got {', '.join(wrong)}")
    for name in sys.argv[1:] or known:
        print(f"{name}: {known[name].__doc__}", flush=True)
        begin = time.process_time()
        known[name]()
        print(f"  ({time.process_time() - begin:.0f} processor seconds)", flush=True)
