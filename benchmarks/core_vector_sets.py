"""CoreVectorSVC on real data: a certified gap, the accuracy beside the exact machine, and beside random cores.

    core      the machine at its `tol`
    exact     the same machine, on all rows, to a gap of 1e-4
    random    the exact machine on as many random rows as there are core vectors, drawn from all rows, or from every
              class alike (small classes are taken whole); means of three draws
    SVC       the one-versus-one machine of scikit-learn, or of oneDAL where that is installed; a random part of the
              largest set

C, gamma and the scheme are chosen on held-out training rows by `searched`. Balanced accuracy is the mean recall of the
classes. The test file of KDD Cup 99 has attacks that its training file lacks; "held out" is a tenth of the latter.
"""

import numpy as np
from sklearn.metrics import recall_score
from sklearn.model_selection import train_test_split

from polymargin import CoreVectorSVC

from .core_vectors import measured, real, text_of

try:
    from sklearnex.svm import SVC
except ImportError:
    from sklearn.svm import SVC

EXACT = 1e-4
DRAWS = 3
SVC_ROWS = 60_000
PEER = f"{SVC.__module__.split('.')[0]} SVC"
SETS = {
    "shuttle": [
        dict(scheme="joint", C=100.0, gamma=1.0, tol=0.01),
        dict(scheme="pairwise", C=100.0, gamma=1.0, tol=0.01),
    ],
    "kddcup99_10pct": [
        dict(scheme="joint", C=10.0, gamma=10.0, tol=0.02),
        dict(scheme="pairwise", C=100.0, gamma=1.0, tol=0.02),
    ],
    "kddcup99_10pct, held out": [dict(scheme="pairwise", C=100.0, gamma=1.0, tol=0.02)],
    "covtype_15k": [
        dict(scheme="joint", C=10.0, gamma=1.0, tol=0.02),
        dict(scheme="pairwise", C=100.0, gamma=0.1, tol=0.02),
    ],
    "mnist": [
        dict(scheme="joint", C=100.0, gamma=0.02, tol=0.05),
        dict(scheme="pairwise", C=100.0, gamma=0.02, tol=0.05),
    ],
}
KDD_CLASSES = ("normal", "dos", "probe", "r2l", "u2r")
PEERS = {
    "shuttle": dict(C=100.0, gamma=1.0),
    "kddcup99_10pct": dict(C=100.0, gamma=1.0),
    "kddcup99_10pct, held out": dict(C=100.0, gamma=1.0),
    "covtype_15k": dict(C=10.0, gamma=0.1),
    "mnist": dict(C=10.0, gamma=0.02),
}
GRID = {  # of gamma, for `searched`
    "shuttle": (0.3, 1.0, 3.0, 10.0),
    "kddcup99_10pct": (1.0, 3.0, 10.0, 30.0),
    "covtype_15k": (0.03, 0.1, 0.3, 1.0),
    "mnist": (0.005, 0.01, 0.02, 0.04),
}


def judged(name, data, model, solver, parameters):
    """The row of one fit, with the recall of every class."""
    row, predicted = measured("real", name, data, model, solver=solver, parameters=text_of(parameters))
    classes = np.unique(data[3])
    recall = recall_score(data[3], predicted, labels=classes, average=None, zero_division=0)
    row["balanced"] = round(float(recall.mean()), 5)
    row["recall"] = " ".join(f"{c}:{r:.4f}" for c, r in zip(classes.tolist(), recall, strict=True))
    return row


def alike(y, size, rng):
    """`size` random rows, as many of every class; small classes are taken whole."""
    order = rng.permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    rank = np.arange(len(y)) - np.searchsorted(y[order], y[order])  # in its class
    return np.sort(order[np.argsort(rank, kind="stable")[:size]])


def random_cores(name, data, size, parameters):
    """The exact machine on random rows: for each way of drawing the mean of some draws."""
    X, y, Xt, yt = data
    ways = {
        "random rows": lambda rng: np.sort(rng.choice(len(y), size, replace=False)),
        "random rows, classes alike": lambda rng: alike(y, size, rng),
    }
    for way, draw in ways.items():
        rows = []
        for seed in range(DRAWS):
            some = draw(np.random.default_rng(seed))
            model = CoreVectorSVC(**{**parameters, "tol": EXACT})
            rows.append(judged(name, (X[some], y[some], Xt, yt), model, way, parameters))
        means = {key: round(float(np.mean([r[key] for r in rows])), 5) for key in ("accuracy", "balanced", "seconds")}
        recall = [[part.split(":") for part in r["recall"].split()] for r in rows]
        means["recall"] = " ".join(
            f"{parts[0][0]}:{np.mean([float(r) for _, r in parts]):.4f}" for parts in zip(*recall, strict=True)
        )
        yield {**rows[0], **means, "note": f"mean of {DRAWS} draws"}


def compared(names=None):
    """The rows of every machine on every set, one after the other."""
    for name in names or SETS:
        data = real(name)
        for parameters in SETS[name]:
            row = judged(name, data, CoreVectorSVC(**parameters), "CoreVectorSVC", parameters)
            yield row
            yield judged(name, data, CoreVectorSVC(**{**parameters, "tol": EXACT}), "exact", parameters)
            yield from random_cores(name, data, row["core"], parameters)
        X, y, Xt, yt = data
        if len(y) > SVC_ROWS:
            X, _, y, _ = train_test_split(X, y, train_size=SVC_ROWS, stratify=y, random_state=0)
        yield judged(name, (X, y, Xt, yt), SVC(**PEERS[name]), PEER, PEERS[name])


def searched(names=None, n=2800):
    """Held-out accuracy on a grid of C and gamma, both schemes, n training rows and n others; nothing is stored."""
    for name in names or GRID:
        X, y, *_ = real(name)
        some, _ = train_test_split(np.arange(len(y)), train_size=2 * n, stratify=y, random_state=0)
        train, test = train_test_split(some, train_size=n, random_state=0)
        for scheme in ("joint", "pairwise"):
            for gamma in GRID[name]:
                for C in (1.0, 10.0, 100.0):
                    parameters = dict(C=C, gamma=gamma, tol=0.05, scheme=scheme)
                    data = X[train], y[train], X[test], y[test]
                    row = judged(f"{name}, some rows", data, CoreVectorSVC(**parameters), scheme, parameters)
                    print(f"    balanced {row['balanced']}", flush=True)
    return []


# ---- the tables ----

LIKE = ("CoreVectorSVC", "exact", "random rows", "random rows, classes alike")


def tables(rows):
    """The tables of the page from stored rows of `real`, the last ones of every machine; what is missing is left empty.

    First the accuracies with balanced ones in brackets, per cent; then the recall of every class of KDD Cup 99.
    """
    last = {(r["dataset"], r["parameters"], r["solver"]): r for r in rows}
    peers = {name: r for (name, _, solver), r in last.items() if solver.endswith(" SVC")}
    lines = ["| set, rows | machine | core | gap | accuracy | exact | random rows | classes alike | SVC |"]
    lines.append("|---" * 9 + "|")
    recalls = []
    for (name, parameters, solver), row in last.items():
        if solver != LIKE[0]:
            continue
        found = [*(last.get((name, parameters, s)) for s in LIKE), peers.get(name)]
        core, n = int(row["core"]), int(row["n"])
        cells = [f"{100 * float(r['accuracy']):.2f} ({100 * float(r['balanced']):.1f})" if r else "" for r in found]
        start = [f"{name}, {n:,}", parameters, f"{core:,} ({core / n:.1%})", f"{float(row['gap']):.2%}"]
        lines.append("| " + " | ".join(start + cells) + " |")
        if name.startswith("kddcup99"):
            each = [dict(part.split(":") for part in r["recall"].split()) if r else {} for r in found]
            recalls += ["", f"| {name}, {parameters} | core | exact | random rows | classes alike | SVC |"]
            recalls.append("|---" * 6 + "|")
            for c in each[0]:
                cells = (f"{100 * float(r[c]):.2f}" if c in r else "" for r in each)
                recalls.append(f"| {KDD_CLASSES[int(c)]} | " + " | ".join(cells) + " |")
    return "\n".join(lines + recalls)
