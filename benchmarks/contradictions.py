"""Rows that contradict each other, at a C beyond what sums of float64 hold: python -m benchmarks.contradictions

600 rows are copies of 20 points with random labels. For every machine, loss and intercept and two to five classes: how
the fit ends at C = 1e8, 1e10 and 1e12, its gap, its violation and its processor seconds.
"""

import argparse
import time
import warnings

import numpy as np

from polymargin import JointSVC, OneVsRestSVC, OutputCodeSVC, PairwiseSVC
from polymargin.machines import MACHINES

SIZES = (1e8, 1e10, 1e12)


def rows(n_classes, seed, n=600, points=20):
    rng = np.random.default_rng(seed)
    P = rng.normal(size=(points, 4))
    return P[rng.integers(0, points, n)], rng.integers(0, n_classes, n)


def configurations():
    for name, machine in MACHINES.items():
        for loss in machine.losses:
            for intercept in sorted(machine.intercepts):
                yield f"{name} {loss} {intercept}", JointSVC(name, loss=loss, intercept=intercept)
    for estimator in (PairwiseSVC, OneVsRestSVC, OutputCodeSVC):
        for loss in ("hinge", "squared_hinge"):
            yield f"{estimator.__name__} {loss}", estimator(loss=loss)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=10.0)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    counts = {C: {} for C in SIZES}
    print(f"{'':36s}" + "".join(f"| C = {C:<32.0e}" for C in SIZES))
    for name, model in configurations():
        for T in (2, 3, 5):
            X, y = rows(T, args.seed + T)
            line = f"{name:32s} T={T} "
            for C in SIZES:
                begin = time.process_time()
                model.set_params(C=C, time_limit=args.time_limit, n_jobs=1).fit(X, y)
                seconds = time.process_time() - begin
                counts[C][model.status_] = counts[C].get(model.status_, 0) + 1
                line += f"| {model.status_:10s} {model.duality_gap_:7.1e} {model.kkt_violation_:7.1e} {seconds:6.2f} s "
            print(line, flush=True)
    for C, count in counts.items():
        print(f"C = {C:.0e}: " + ", ".join(f"{n} {status}" for status, n in sorted(count.items())))


if __name__ == "__main__":
    main()
