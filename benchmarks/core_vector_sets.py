"""CoreVectorSVC on real data: a certified gap, the accuracy beside the exact machine, and beside random cores.

    core      the machine at its `tol`
    exact     the same machine, on all rows, to a gap of 1e-4
    random    the exact machine on as many random rows as there are core vectors, drawn from all rows, or from every
              class alike (small classes are taken whole); means of three draws
    SVC       scikit-learn's one-versus-one machine; on a random part of the largest set

C, gamma and the scheme are chosen on held-out training rows by `searched`. Balanced accuracy is the mean recall of the
classes.
"""

import numpy as np
from sklearn.metrics import recall_score
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from polymargin import CoreVectorSVC

from .core_vectors import measured, real, text_of

EXACT = 1e-4
DRAWS = 3
SVC_ROWS = 60_000
PEER = "sklearn SVC (one-versus-one)"
SETS = {
    "shuttle": [dict(C=100.0, gamma=1.0, tol=0.01)],
}
PEERS = {"shuttle": dict(C=10.0, gamma=1.0)}
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


def searched(names=None, n=4000):
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
                    row = judged(f"{name}, held out", data, CoreVectorSVC(**parameters), scheme, parameters)
                    print(f"    balanced {row['balanced']}", flush=True)
    return []


# ---- the tables ----


def tables(rows):
    """The tables of the page, from the stored rows of `real`: the last ones of every machine."""
    last = {(r["dataset"], r["parameters"], r["solver"]): r for r in rows}
    lines = [
        "| set | machine | rows | core | gap | accuracy | exact | random rows | classes alike | balanced | exact "
        "| random rows | classes alike | SVC |",
        "|---" * 14 + "|",
    ]
    for (name, parameters, solver), row in last.items():
        if solver != "CoreVectorSVC":
            continue
        same = [last[name, parameters, s] for s in ("exact", "random rows", "random rows, classes alike")]
        peer = next(r for (d, _, s), r in last.items() if d == name and s == PEER)
        figures = [f"{100 * float(r[key]):.2f}" for key in ("accuracy", "balanced") for r in (row, *same)]
        lines.append(
            f"| {name} | {parameters} | {int(row['n']):,} | {int(row['core']):,} | {float(row['gap']):.2g} | "
            + " | ".join([*figures, f"{100 * float(peer['accuracy']):.2f}"])
            + " |"
        )
    return "\n".join(lines)
