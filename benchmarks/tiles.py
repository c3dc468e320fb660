"""Kernel tiles against BLAS, and prediction against peers: python -m benchmarks.tiles [rates | predict] [names...]

rates     GFLOP/s of blocks of kernel values, 5 to 2,000 features, float32 and float64, one thread: the linear kernel
          beside NumPy's product of the same matrices, and the RBF kernel, whose exp and norms count as no operations.
predict   Seconds of `predict`: PairwiseSVC, sklearnex's SVC in float32 and scikit-learn's SVC on standardized rows,
          C = 1, gamma = 1/d and C = 100, gamma = 0.3/d, at most 15,000 training rows. `x` is the better peer's time
          over ours.

Times are processor time, of all threads, the least of several runs: other work on the machine adds to none of them but
what it takes of the caches. POLYMARGIN_SIMD=base, avx2 or avx512 lowers the instruction set of ours only.
"""

import argparse
import time
import warnings

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from polymargin import PairwiseSVC, _core, datasets

FEATURES = (5, 10, 36, 60, 180, 784, 2000)
SETS = ("mnist", "dna", "satimage", "covtype_15k")
MOST = 15_000
PARAMETERS = ((1.0, 1.0), (100.0, 0.3))  # C and gamma d


def least(call, seconds=1.0, runs=3):
    """The least processor time of a call."""
    call()
    times, begin = [], time.perf_counter()
    while len(times) < runs or time.perf_counter() - begin < seconds:
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def rates(console):
    table = Table(title=f"GFLOP/s of one thread ({_core.simd()})", title_justify="left")
    for column in ("type", "features", "NumPy", "linear", "x", "RBF", "x", "RBF values/us"):
        table.add_column(column, justify="right")
    rng, n = np.random.default_rng(0), 1024
    rows = np.arange(n)
    for dtype in ("float32", "float64"):
        for d in FEATURES:
            X, Z = ((rng.standard_normal((n, d)) / np.sqrt(d)).astype(dtype) for _ in range(2))
            operations, out = 2e-9 * n * n * d, np.empty((n, n), dtype)
            with threadpool_limits(1):
                blas = least(lambda X=X, Z=Z, out=out: np.matmul(X, Z.T, out=out))
            linear, rbf = (
                least(
                    lambda X=X, Z=Z, kernel=kernel, dtype=dtype: _core.kernel_block(X, Z, kernel, rows, rows, dtype, 1)
                )
                for kernel in ({"kind": "linear"}, {"kind": "rbf", "gamma": 0.5})
            )
            table.add_row(
                *(dtype, str(d), f"{operations / blas:.1f}"),
                *(f"{operations / linear:.1f}", f"{blas / linear:.2f}", f"{operations / rbf:.1f}"),
                *(f"{blas / rbf:.2f}", f"{1e-6 * n * n / rbf:.0f}"),
            )
    console.print(table)


def standardized(name):
    D = datasets.load(name)
    X, y = D.X_train[:MOST].astype(float), D.y_train[:MOST]
    Z = X if D.X_test is None else D.X_test.astype(float)
    mean, scale = X.mean(axis=0), X.std(axis=0)
    scale[scale == 0] = 1
    return *(np.ascontiguousarray((A - mean) / scale, dtype=np.float32) for A in (X, Z)), y


def peers(C, gamma):
    from sklearn.svm import SVC

    yield "scikit-learn", SVC(C=C, gamma=gamma, cache_size=1000)
    try:
        from sklearnex.svm import SVC as OneDal
    except ImportError:
        return
    yield "oneDAL", OneDal(C=C, gamma=gamma, cache_size=1000)


def predict(console, names):
    table = Table(title=f"seconds of predict, processor time ({_core.simd()})", title_justify="left")
    for column in ("set", "rows", "C", "SVs", "type", "ours", "oneDAL", "scikit-learn", "x"):
        table.add_column(column, justify="right")
    for name in names or SETS:
        X, Z, y = standardized(name)
        for C, share in PARAMETERS:
            gamma = share / X.shape[1]
            model = PairwiseSVC(C, gamma=gamma).fit(X, y)
            mine, others = least(lambda: model.predict(Z)), {}  # noqa: B023
            for peer, machine in peers(C, gamma):
                machine.fit(X, y)
                others[peer] = least(lambda: machine.predict(Z))  # noqa: B023
            table.add_row(
                *(name, f"{len(Z):,}", f"{C:g}", f"{len(model.support_):,}", model._score_type, f"{mine:.4f}"),
                *(f"{others[peer]:.4f}" if peer in others else "-" for peer in ("oneDAL", "scikit-learn")),
                f"{min(others.values()) / mine:.2f}",
            )
    console.print(table)


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tiles", description="tiles and prediction")
    parser.add_argument("what", nargs="?", choices=("rates", "predict"), help="default: both")
    parser.add_argument("names", nargs="*", help=f"data sets of predict; default: {' '.join(SETS)}")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    console = Console(width=120)
    if args.what != "predict":
        rates(console)
    if args.what != "rates":
        predict(console, args.names)


if __name__ == "__main__":
    main()
