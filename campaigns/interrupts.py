"""Ctrl-C at random moments of fits: each stops within half a second of work, and leaves one whole model.

    python -m campaigns.interrupts 1000 [--seed 1] [--scale 4] [--only landmarks] [--count]

Every estimator and search is fitted once without a signal, for the clock; then, in turn, a SIGINT comes at a random
moment of that, to the main thread or to another one, in a fit of a fresh estimator or in a second fit on other rows.
Printed are the longest time by processor clock from the signal to the end of the fit, and all that is not whole: a
fresh estimator is unfitted or a usable model afterwards, a fitted one is the previous model to the bit, or a usable new
one (`check_whole` of tests/fitting/test_state.py).
"""

import argparse
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

from . import counts

ALLOWED = 0.5  # seconds of processor time from the signal to the end

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def estimators() -> dict:
    """name -> (how to make it, rows of the fit that is interrupted, features)."""
    import polymargin as pm

    joint, one = pm.JointSVC, dict(n_jobs=1)
    hard = dict(C=100.0, tol=1e-5, **one)
    grids = dict(C=[0.1, 1.0, 10.0], gamma=[0.01, 0.1, 1.0], cv=3)
    return {
        **{f"joint, {m}": (lambda m=m: joint(m, **hard), 900, 6) for m in ("scatter", "kesler", "crammer-singer")},
        **{f"joint, {m}": (lambda m=m: joint(m, **hard), 600, 6) for m in ("llw", "adm", "ats", "atm", "reinforced")},
        "joint, ovr": (lambda: joint("ovr", **hard), 900, 6),
        "scatter, exact": (lambda: joint("scatter", intercept="exact", **hard), 900, 6),
        "scatter, nu": (lambda: joint("scatter", nu=0.3, tol=1e-5, **one), 1500, 6),
        "scatter, logistic": (lambda: joint("scatter", loss="logistic", **hard), 700, 6),
        "scatter, little memory": (lambda: joint("scatter", memory="4MB", **hard), 1500, 6),
        "kesler, smo": (lambda: joint("kesler", solver="smo", **hard), 300, 6),
        "kesler, ksk": (lambda: joint("kesler", solver="ksk", loss="squared_hinge", **one), 150, 6),
        "linear": (lambda: joint("crammer-singer", kernel="linear", **one), 3000, 30),
        "many rows": (lambda: joint(C=1.0, **one), 6000, 20),
        "pairs": (lambda: pm.PairwiseSVC(C=10.0, **one), 2500, 6),
        "rest": (lambda: pm.OneVsRestSVC(C=10.0, **one), 2000, 6),
        "codes": (lambda: pm.OutputCodeSVC(C=10.0, random_state=0, **one), 1500, 6),
        "core": (lambda: pm.CoreVectorSVC(C=10.0, **one), 2000, 6),
        "core, growing": (lambda: pm.CoreVectorSVC(C=10.0, epsilon=1e-4, **one), 4000, 6),
        "core, pairs": (lambda: pm.CoreVectorSVC(C=10.0, scheme="pairwise", **one), 2000, 6),
        "ball": (lambda: pm.EnclosingBall(C=0.01, **one), 4000, 6),
        "landmarks": (lambda: pm.LandmarkSVC(n_landmarks=300, **one), 8000, 20),
        "structured": (lambda: pm.StructuredSVC(), 3000, 30),
        "cuts": (lambda: pm.StructuredSVC(algorithm="one-slack"), 3000, 30),
        "density": (lambda: pm.KernelDensityNB(), 3000, 20),
        "grnn": (lambda: pm.GRNNRegressor(), 3000, 20),
        "isomap": (lambda: pm.SupervisedIsomap(**one), 1500, 20),
        "auto": (lambda: pm.AutoSVC(cv=3, **one), 300, 6),
        "grid": (lambda: pm.KernelSearchCV(pm.PairwiseSVC(), **grids, **one), 900, 6),
        "grid, joint": (lambda: pm.KernelSearchCV(joint(), **grids, **one), 300, 6),
        "criterion I": (lambda: pm.RadiusMarginSearch(joint("scatter", **one), max_iter=20), 500, 6),
        "criterion II": (lambda: pm.RadiusMarginSearch(pm.PairwiseSVC(**one), criterion="II", max_iter=20), 500, 6),
        "ellipsoidal": (lambda: pm.RadiusMarginSearch(pm.PairwiseSVC(**one), kernel="ellipsoidal", max_iter=8), 300, 9),
    }  # fmt: skip


def rows(name: str, n: int, d: int, classes: str, rng) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping classes, so that a fit has something to do."""
    y = np.arange(n) % len(classes)
    X = rng.normal(size=(n, d)) + 0.5 * rng.normal(size=(len(classes), d))[y]
    return (X, X[:, :2] ** 2) if name == "grnn" else (X, np.array(list(classes))[y])


class Signal:
    """SIGINT after this many seconds of work, to the main thread or to another one; void unless it is `armed`."""

    def __init__(self, seconds: float, elsewhere: bool):
        self.seconds, self.elsewhere = seconds, elsewhere
        self.sent: float | None = None
        self.armed, self.over = False, threading.Event()
        self.thread = threading.Thread(target=self.wait)

    def wait(self) -> None:
        begin = time.process_time()
        while time.process_time() - begin < self.seconds:
            if self.over.wait(0.002):
                return
        self.sent = time.process_time()
        target = threading.get_ident() if self.elsewhere else threading.main_thread().ident
        signal.pthread_kill(target, signal.SIGINT)

    def receive(self, *_) -> None:
        if self.armed:
            self.armed = False
            raise KeyboardInterrupt

    def __enter__(self):
        self.former = signal.signal(signal.SIGINT, self.receive)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.armed = False
        self.over.set()
        self.thread.join()
        signal.signal(signal.SIGINT, self.former)


def values(model, X) -> np.ndarray:
    """The most detailed that a model says of some rows."""
    how = next(name for name in ("decision_function", "transform", "predict") if hasattr(model, name))
    return np.asarray(getattr(model, how)(X))


def whole(model, before: dict, expected, X, Z, full=None) -> str | None:
    """What is not whole about a model whose fit ended early, if anything; `full` is the answer of a whole fit."""
    from test_state import check_whole

    try:
        if expected is not None:
            check_whole(model, before, expected, X, Z)
        elif vars(model) != before:  # searches may have a table to go on with, and no model
            fitted = hasattr(model, "n_features_in_") and (
                not hasattr(model, "cv_results_") or hasattr(model, "best_estimator_")
            )
            found = None
            if fitted:
                found = values(model, some := Z[:50])
                if len(found) != len(some) or (found.dtype.kind == "f" and not np.isfinite(found).all()):
                    return "the new model does not predict"
            # Ctrl-C may come between the end of the work and the end of the fit, or while a solved one is polished.
            within = getattr(model, "tol", 0.0)
            done = found is not None and full is not None and np.allclose(found, full, rtol=0.0, atol=within)
            if getattr(model, "status_", "interrupted") != "interrupted" and not done:
                return f"status_ is {model.status_!r}"
    except Exception:
        return " | ".join(traceback.format_exc().splitlines()[-4:])
    return None


class Campaign:
    """One estimator: its rows, how long a fit takes, and what its interruptions have shown."""

    def __init__(self, name: str, made: tuple, seed: int, scale: float):
        rng = np.random.default_rng([seed, len(name)])
        self.name, (self.make, n, d) = name, made
        self.X, self.y = rows(name, 60, d - 1, "abc", rng)
        self.Z, self.z = rows(name, int(scale * n), d, "uvwz", rng)
        begin = time.process_time()
        model = self.make().fit(self.Z, self.z)
        self.seconds = time.process_time() - begin
        self.full = values(model, self.Z[:50])
        self.stopped = self.fits = 0
        self.longest, self.found = 0.0, []

    def once(self, rng) -> None:
        from test_state import answer

        model, expected = self.make(), None
        if rng.random() < 0.5:
            expected = answer(model.fit(self.X, self.y), self.X)
        before = dict(vars(model))
        moment, elsewhere = float(rng.uniform(0, 1.02)), bool(rng.random() < 0.5)
        self.fits += 1
        with Signal(moment * self.seconds, elsewhere) as sent:
            try:
                sent.armed = True
                model.fit(self.Z, self.z)
                sent.armed = False
                return
            except KeyboardInterrupt:
                pass
        delay = time.process_time() - (sent.sent or time.process_time())
        self.stopped += 1
        self.longest = max(self.longest, delay)
        problem = whole(model, before, expected, self.X, self.Z, self.full)
        late = f"{delay:.2f} s until it stopped" if delay > ALLOWED else None
        for found in filter(None, (problem, late)):
            self.found.append(found)
            print(f"{self.name}, at {moment:.3f} of {self.seconds:.1f} s: {found}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("number", type=int, help="of fits")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the numbers of rows")
    parser.add_argument("--only", nargs="+", help="names of estimators")
    parser.add_argument("--count", action="store_true", help="add the numbers to campaigns/counts.json")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for folder in ("tests", "tests/fitting"):
        sys.path.insert(0, str(Path(__file__).parents[1] / folder))
    chosen = {name: made for name, made in estimators().items() if not given.only or name in given.only}
    rng, campaigns = np.random.default_rng(given.seed), []
    for name, made in chosen.items():
        campaigns.append(Campaign(name, made, given.seed, given.scale))
        for _ in range(max(1, given.number // len(chosen))):
            campaigns[-1].once(rng)
        c = campaigns[-1]
        print(f"{c.name}: {c.stopped} of {c.fits} stopped, {1000 * c.longest:.0f} ms at most, {len(c.found)} findings "
              f"(a fit takes {c.seconds:.2f} s)", flush=True)  # fmt: skip
        stopped, found = sum(c.stopped for c in campaigns), sum(len(c.found) for c in campaigns)
        if given.count:
            counts.add("interrupts", f"fits of {len(chosen)} kinds", stopped, found, given.seed)
    fits, worst = sum(c.fits for c in campaigns), max(campaigns, key=lambda c: c.longest)
    print(f"{fits:,} fits, {stopped:,} of them stopped, within {1000 * worst.longest:.0f} ms of work ({worst.name}), "
          f"{found} findings")  # fmt: skip
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
