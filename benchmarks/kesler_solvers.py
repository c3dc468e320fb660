"""Which solvers of the Kesler machine earn a place: python -m benchmarks.kesler_solvers [--gap 1e-3]

Franc and Hlaváč (2002) train with one-variable SMO and the Schlesinger-Kozinec algorithm, and name the Nearest Point
Algorithm and successive over-relaxation as worth a look. Here they all run in plain NumPy on the same scores
F[c, j] = sum_i B[c, i] (k_ij + 1), so that what is counted is the algorithm: steps that change a variable, kernel rows
that they use (1 for a step on one variable, 2 for a pair), and seconds. Everybody stops at the same certified duality
gap.

    hinge            smo     the variable whose own step gains most
                     sor w   one variable after the other, w times its own step (Mangasarian and Musicant 1999)
    squared hinge    mdm     a pair chosen by its gain
                     npa     the nearest point of the triangle between the current point, the vertex that ksk goes to
                             and the far end of the first-order pair step (Keerthi et al. 2000)
                     ksk     the segment to that vertex; only up to 256 rows, it takes too long on more

Below them the compiled solvers, where there are more than 256 rows (up to there they go on to rounding error). A step
of "auto" is one on all variables of a row.
"""

import argparse
import time
import warnings

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

from polymargin import JointSVC
from polymargin.datasets import DatasetNotFound

from . import datasets

MOST_STEPS = 400_000
POLISHED = 256  # up to this many rows the compiled solvers go on to rounding error


def box(X):
    return 2 * (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0)) - 1


def satimage():
    D = datasets.load("satimage")
    return D.X_train[:1000], np.unique(D.y_train[:1000], return_inverse=True)[1]


SETS = {  # data, C, gamma
    "iris": (lambda: (box(load_iris().data), load_iris().target), 1.0, 0.5),
    "wine": (lambda: (box(load_wine().data), load_wine().target), 4.0, 0.1),
    "digits": (lambda: (load_digits().data[:1000] / 16, load_digits().target[:1000]), 2.0, 0.05),
    "satimage": (satimage, 4.0, 1.0),
}


class Point:
    """Variables a[c, j] >= 0 with their scores F; a margin is f[c, j] = F[y_j, j] - F[c, j]."""

    def __init__(self, K, y, C, squared):
        self.K, self.y, self.C, self.squared = K, y, C, squared
        self.T, self.n = int(y.max()) + 1, len(y)
        self.ridge = 1 / (2 * C) if squared else 0.0
        self.own = np.arange(self.T)[:, None] == y
        self.a, self.F = np.zeros((self.T, self.n)), np.zeros((self.T, self.n))
        self.q = 2 * np.diag(K) + self.ridge
        self.steps = self.rows = 0

    def add(self, c, i, s):
        self.a[c, i] += s
        self.F[self.y[i]] += s * self.K[i]
        self.F[c] -= s * self.K[i]
        self.rows += 1

    def Qa(self):
        return self.F[self.y, np.arange(self.n)] - self.F + self.ridge * self.a

    def gap(self, scale=1.0):
        a, f = scale * self.a, scale * (self.Qa() - self.ridge * self.a)
        slack = np.where(self.own, 0, np.maximum(1 - f, 0))
        quadratic = np.sum(a * f)
        primal = quadratic / 2 + self.C * np.sum(slack**2 if self.squared else slack)
        return 1 - (a.sum() - quadratic / 2 - self.ridge / 2 * np.sum(a**2)) / primal


def smo(p, goal):
    while p.steps < MOST_STEPS:
        g = 1 - p.Qa()
        v = np.where(p.own, 0, np.where(g > 0, np.where(p.a < p.C, g, 0), np.where(p.a > 0, g, 0)))
        c, i = np.unravel_index(np.argmax(v**2 / p.q), v.shape)
        p.add(c, i, np.clip(p.a[c, i] + g[c, i] / p.q[i], 0, p.C) - p.a[c, i])
        p.steps += 1
        if p.steps % max(16, p.n // 8) == 0 and p.gap() <= goal:
            return


def sor(relaxation):
    def solve(p, goal):
        while p.steps < MOST_STEPS:
            for i in range(p.n):
                f = p.F[p.y[i], i] - p.F[:, i]
                wrong = ((f < 1) & (p.a[:, i] < p.C)) | ((f > 1) & (p.a[:, i] > 0))
                for c in np.flatnonzero(wrong & ~p.own[:, i]):
                    g = 1 - (p.F[p.y[i], i] - p.F[c, i])
                    s = np.clip(p.a[c, i] + relaxation * g / p.q[i], 0, p.C) - p.a[c, i]
                    if s != 0:
                        p.add(c, i, s)
                        p.steps += 1
            if p.gap() <= goal:
                return

    return solve


def nearest(step):
    """The algorithms for min a'Qa with sum a = 1; a a'Qa^-1 is what solves the dual."""

    def solve(p, goal):
        i = int(np.argmin(p.q))
        p.add(int(p.y[i] == 0), i, 1.0)
        while p.steps < MOST_STEPS:
            h = p.Qa()
            c, i = np.unravel_index(np.argmin(np.where(p.own, np.inf, h)), h.shape)
            step(p, h, c, i)
            p.steps += 1
            if p.steps % max(16, p.n // 8) == 0 and p.gap(p.a.sum() / np.sum(p.a * p.Qa())) <= goal:
                return

    return solve


def between(p, c, i):
    """Q of the variable (c, i) with all others."""
    sign = (p.y[i] == p.y) + 1 * (np.arange(p.T)[:, None] == c) - (p.y[i] == np.arange(p.T)[:, None]) - (p.y == c)
    return sign * p.K[i]


def mdm(p, h, c, i):
    slope = h - h[c, i]
    bend = np.maximum(p.q[i] + p.q - 2 * between(p, c, i), 1e-12)
    s = np.clip(slope / bend, 0, p.a)
    gain = s * (slope - s * bend / 2)
    gain[c, i] = 0
    d, j = np.unravel_index(np.argmax(gain), gain.shape)
    s = s[d, j]
    p.add(c, i, s)
    p.add(d, j, -s)
    p.a[d, j] = max(p.a[d, j], 0)


def move(p, keep, moves):
    """a <- keep a + the moves."""
    p.a *= keep
    p.F *= keep
    for c, i, s in moves:
        if s != 0:
            p.add(c, i, s)
    np.maximum(p.a, 0, out=p.a)


def ksk(p, h, c, i):
    o, t = np.sum(p.a * h), h[c, i]
    s = np.clip((o - t) / max(o - 2 * t + p.q[i], 1e-300), 0, 1)
    move(p, 1 - s, [(c, i, s)])


def npa(p, h, c, i):
    """Nearest point of the triangle z, z + a_j (z_t - z_j), z_t: its sides, and its inside where that is nearer."""
    d, j = np.unravel_index(np.argmax(np.where(p.a > 0, h, -np.inf)), h.shape)
    if (c, i) == (d, j):
        return ksk(p, h, c, i)
    o, t, w = np.sum(p.a * h), h[c, i], p.a[d, j]
    q_tj = between(p, c, i)[d, j]
    zt, zz = p.q[i], p.q[i] + p.q[j] - 2 * q_tj
    # Edges from z: u = w (z_t - z_j) and v = z_t - z, with all their products.
    zu, uu = w * (t - h[d, j]), w * w * zz
    zv, vv = t - o, zt - 2 * t + o
    uv = w * ((zt - q_tj) - (t - h[d, j]))
    tries = [(np.clip(-zu / uu, 0, 1), 0.0), (0.0, np.clip(-zv / vv, 0, 1))]
    edge = uu - 2 * uv + vv
    if edge > 1e-300:
        x = np.clip((zv - zu + vv - uv) / edge, 0, 1)
        tries.append((x, 1 - x))
    det = uu * vv - uv * uv
    if det > 1e-14 * uu * vv:
        x, y = (-zu * vv + zv * uv) / det, (-zv * uu + zu * uv) / det
        if x >= 0 and y >= 0 and x + y <= 1:
            tries.append((x, y))
    x, y = min(
        tries, key=lambda s: 2 * (s[0] * zu + s[1] * zv) + s[0] ** 2 * uu + 2 * s[0] * s[1] * uv + s[1] ** 2 * vv
    )
    # z + x u + y v = (1 - y) z + (x w + y) z_t - x w z_j, with a_j = w before the shrinking.
    move(p, 1 - y, [(c, i, x * w + y), (d, j, -x * w * 1.0)] if x > 0 else [(c, i, y)])


PLAIN = {
    "hinge": {"smo": smo, "sor 1": sor(1.0), "sor 1.3": sor(1.3), "sor 1.6": sor(1.6)},
    "squared_hinge": {"mdm": nearest(mdm), "npa": nearest(npa), "ksk": nearest(ksk)},
}
COMPILED = {"hinge": ("auto", "smo"), "squared_hinge": ("auto", "mdm", "ksk")}


def compiled(solver, loss, X, y, C, gamma, goal):
    """The first of falling tolerances that reaches the gap."""
    for tol in goal * 2.0 ** np.arange(6, -12, -1):
        model = JointSVC("kesler", loss=loss, solver=solver, C=C, gamma=gamma, tol=tol, max_iter=MOST_STEPS).fit(X, y)
        if model.duality_gap_ <= goal or model.status_ != "solved":
            return model
    return model


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kesler_solvers", description="solvers of one machine")
    parser.add_argument("names", nargs="*", default=list(SETS), help="data sets; default: %(default)s")
    parser.add_argument("--gap", type=float, default=1e-3, help="certified duality gap at which all stop")
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    console = Console()
    for name in args.names:
        load, C, gamma = SETS[name]
        try:
            X, y = load()
        except DatasetNotFound as reason:
            console.print(f"{name}: skipped, {reason}")
            continue
        squares = (X**2).sum(axis=1)
        K = np.exp(-gamma * np.maximum(squares[:, None] + squares - 2 * X @ X.T, 0)) + 1
        table = Table(title=f"{name}: {len(y)} rows, gap {args.gap:g}", title_justify="left")
        for column in ("loss", "solver", "steps", "kernel rows", "seconds", ""):
            table.add_column(column, justify="left" if column in ("loss", "solver", "") else "right")
        for loss in PLAIN:
            for solver, solve in PLAIN[loss].items():
                if solver == "ksk" and len(y) > POLISHED:
                    continue
                p = Point(K, y, C, loss == "squared_hinge")
                begin = time.perf_counter()
                solve(p, args.gap)
                end = "not reached" if p.steps >= MOST_STEPS else ""
                table.add_row(loss, solver, f"{p.steps:,}", f"{p.rows:,}", f"{time.perf_counter() - begin:.3f}", end)
            for solver in COMPILED[loss] if len(y) > POLISHED else ():
                model = compiled(solver, loss, X, y, C, gamma, args.gap)
                end = "" if model.duality_gap_ <= args.gap else "not reached"
                rows = f"{model.n_kernel_evals_ / len(y):,.0f} computed"
                table.add_row(loss, f"{solver}, compiled", f"{model.n_iter_:,}", rows, f"{model.fit_seconds_:.3f}", end)
        console.print(table)


if __name__ == "__main__":
    main()
