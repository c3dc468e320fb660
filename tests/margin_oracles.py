"""Reference solutions of the machines with a margin per class: primals as the papers print them, by a conic solver.

With scores f_c(x) = <w_c, phi(x)> (regularized intercept: K + 1 takes the place of K), margins m_ic for every example i
and class c, slacks xi_ic = max(0, target - m_ic) and weights u_i = C w_i:

    min  1/2 sum_c ||w_c||^2 + sum_i u_i loss_i

    kesler            f_y - f_c >= 1, c != y                      sum of xi, or of xi^2 (squared hinge)
    crammer-singer    the same                                    largest xi
    llw, adm          sum_c f_c = 0, -f_c >= 1, c != y            sum, largest
    ats, atm          the same, and f_y >= 1                      sum, largest
    reinforced        the same, and f_y >= T - 1                  sum
    ovr               no sum, -f_c >= 1, c != y, and f_y >= 1     sum, or sum of xi^2 / 2
"""

import cvxpy as cp
import numpy as np
from oracles import Optimum, factor, solve

# machine: (margins over the own score, scores sum to zero, target of the own class, largest slack, factor of xi^2, and
# what multiplies C in the binary SVC without bias of the same decision values for two classes (docs/theory.md))
TABLE = {
    "kesler": (True, False, None, False, 1.0, 2.0),
    "crammer-singer": (True, False, None, True, None, 2.0),
    "llw": (False, True, None, False, None, 0.5),
    "adm": (False, True, None, True, None, 0.5),
    "ats": (False, True, lambda T: 1.0, False, None, 1.0),
    "atm": (False, True, lambda T: 1.0, True, None, 0.5),
    "reinforced": (False, True, lambda T: T - 1.0, False, None, 1.0),
    "ovr": (False, False, lambda T: 1.0, False, 0.5, 1.0),
}


class Joint:
    """One problem of the module's docstring. K is the plain Gram matrix, y 0 .. T-1; all weights are positive."""

    def __init__(self, machine, K, y, *, loss="hinge", C=1.0, intercept="none", weights=None):
        self.own, self.centered, target, self.largest, self.square, self.binary_C = TABLE[machine]
        self.y, self.T, self.squared = np.asarray(y), int(np.max(y)) + 1, loss == "squared_hinge"
        self.K = np.asarray(K, float) + (intercept == "regularized")
        self.u = C * (np.ones(len(self.y)) if weights is None else np.asarray(weights, float))
        self.E = np.eye(self.T)[self.y]
        self.target = None if target is None else target(self.T)

    def slacks(self, F):
        """target - margin, (n, T), from scores F as an array or a cvxpy expression; without a margin it is -1."""
        lib = cp if isinstance(F, cp.Expression) else np
        times = cp.multiply if lib is cp else np.multiply
        own = lib.sum(times(self.E, F), axis=1)
        own = cp.reshape(own, (len(self.y), 1), order="C") if lib is cp else own[:, None]
        rest = 1 - self.E
        if self.own:
            return times(rest, 1 + F - own @ np.ones((1, self.T))) - self.E
        below = times(rest, 1 + F)
        return below - (self.E if self.target is None else times(self.E, F - self.target))

    def primal(self):
        G = factor(self.K)
        W = cp.Variable((self.T, G.shape[1]))
        F = G @ W.T
        xi = cp.pos(self.slacks(F))
        if self.largest:
            loss = self.u @ cp.max(xi, axis=1)
        else:
            loss = self.u @ cp.sum(self.square * cp.square(xi) if self.squared else xi, axis=1)
        rules = [cp.sum(W, axis=0) == 0] if self.centered else []
        value = solve(cp.Minimize(cp.sum_squares(W) / 2 + loss), rules)
        return Optimum(value, scores=G @ W.value.T)

    def value(self, B):
        """Objective of the primal at w_c = sum_i B[c, i] phi(x_i)."""
        F = self.K @ B.T
        xi = np.maximum(self.slacks(F), 0)
        loss = xi.max(axis=1) if self.largest else (self.square * xi**2 if self.squared else xi).sum(axis=1)
        return np.sum(B.T * F) / 2 + self.u @ loss
