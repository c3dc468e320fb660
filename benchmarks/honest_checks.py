"""What a fitted model claims against what is true of it. Each check that fails is a violation: (name, sentence).

The bounds. A value may differ from the truth by

    1e-6 of the sum of the sizes of its terms, plus what rounding of the kernel values justifies:
    sum_i (slope of the loss of row i) noise_i + 1/2 sum_i |coefficient| noise_i

where noise_i is eight standard deviations of the rounding of a score, eps |coefficients| |k|, eps that of float64, or
of float32 where float32 kernel values may be used: tol >= 1e-5 and more than 512 rows or a core set that grows. RBF
values from norms and products round relative to 1 + gamma |x - mean|^2; a linear score is <w, x>, which rounds relative
to |w| |x| and the sizes of the sums that make w. Solvers add up their scores step by step, which is what 1e-6 leaves
room for. But "solved" is a claim: then no more than 1e-3 of a value (or twice the gap that is claimed) may be rounding,
beyond that of a slack itself, and no more than tol of a score.

Two ends claim less. A kernel that is indefinite on the rows proves nothing: the gap is then infinite, but the values
must be true all the same. And "no_margin": the hinge's nu form has the margin zero, and no violation is small beside
it. Both are taken only where they are true.
"""

import numpy as np

from .honest_columns import Ball, Columns, Core, Structured
from .honest_problems import Problem
from .honest_values import Margins, Scatter, coefficients, facts, indefinite, noise

REL = 1e-6
MOST = 1e-3  # of a value of a fit that is solved may be rounding
SLACK = 8 * float(np.finfo(float).eps)  # rounding of a slack 1 - f, relative to 1 + |f|
GRACE = 2.0  # seconds beyond time_limit, and half of it again, for what follows the solver on a busy machine
FEW = 500  # rows up to which other feasible points are tried
NO_MARGIN = 1e-6  # of the largest Q[i, i]: a smaller margin may count as none


def family(f):
    name, p = f.problem.estimator, f.p
    if name == "JointSVC":
        return (Scatter if p["machine"] == "scatter" else Margins)(f)
    return dict(CoreVectorSVC=Core, EnclosingBall=Ball, StructuredSVC=Structured).get(name, Columns)(f)


class Checks:
    """All checks of one model; `found` are the violations, `worst` the deviations that are shown."""

    def __init__(self, problem, model, wall, cpu):
        self.problem, self.model, self.p = problem, model, problem.params
        self.found, self.worst = [], {}
        self.limits(wall, cpu)
        self.f = facts(problem, model)
        self.m = family(self.f)
        self.truth = np.asarray(self.m.scores(), dtype=float)
        self.noise_p = float((self.m.slope() * self.m.noise).sum() + (self.m.reduced * self.m.noise).sum() / 2)
        self.noise_d = float((self.m.reduced * self.m.noise).sum() / 2)
        if isinstance(self.m, Core | Ball) and self.f.single:  # their upper bound has this for rounding, four values
            self.noise_p += 4 * self.f.eps * len(self.m.noise.T if self.m.noise.ndim > 1 else [0])
        self.gamma()
        self.constants()
        if self.claims():
            self.feasible()
            self.values()
            if self.model.status_ == "no_margin":
                self.no_margin()
            if np.isfinite(self.model.duality_gap_):
                self.certificate()
                self.beaten()
        self.decisions()

    def expect(self, good, name, sentence):
        if not good:
            self.found.append((name, sentence))

    def limits(self, wall, cpu):
        limit = self.p["time_limit"]
        took = min(wall, cpu)
        self.expect(took <= 1.5 * limit + GRACE, "time", f"{took:.1f} s of processor time, time_limit={limit:g}")
        known = ("solved", "max_iter", "time_limit", "stalled", "epsilon", "no_margin", "large_core")
        self.expect(self.model.status_ in known, "status", f"status {self.model.status_!r}")

    def gamma(self):
        if self.f.expected_gamma is not None:
            off = abs(self.model.gamma_ / self.f.expected_gamma - 1)
            self.expect(off <= REL, "gamma", f"gamma_ {self.model.gamma_!r}, expected {self.f.expected_gamma:.12g}")

    def feasible(self):
        if self.proves_nothing():
            return
        off = self.m.infeasible()
        self.worst["infeasible"] = off
        self.expect(off <= REL, "feasible", f"dual variables outside of bounds or sums by {off:.2g}, relative")

    def proves_nothing(self):
        """Whether a fit that was stopped says so of its variables."""
        return self.model.status_ != "solved" and self.model.duality_gap_ == np.inf

    def constants(self):
        m = self.m
        numbers = [np.asarray(m.point, dtype=float), np.asarray(getattr(self.model, "intercept_", 0.0))]
        self.expect(all(np.all(np.isfinite(x)) for x in numbers), "finite", "the model has numbers that are not finite")
        if self.proves_nothing():
            return  # the constraint is written with the sums of these variables
        self.expect(m.constants() <= REL, "constants", f"intercepts off their constraint by {m.constants():.2g}")
        if self.f.one and hasattr(self.model, "dual_coef_"):
            B = coefficients(self.f, len(self.model.intercept_))
            off = np.abs(B.sum(axis=1) - self.model.intercept_).max() / max(np.abs(B).sum(), 1e-300)
            self.expect(off <= REL, "intercept", f"intercept_ is not the sum of coefficients: off by {off:.2g}")

    def claims(self):
        """Whether any values are claimed; a fit that was stopped may claim nothing, and then says so."""
        r = self.model
        values = r.primal_objective_, r.dual_objective_, r.duality_gap_
        if all(np.isfinite(values)):
            return True
        if all(np.isfinite(values[:2])) and (r.status_ != "solved" or indefinite(self.f.K, self.m.zero_sums)):
            return True
        self.expect(r.status_ != "solved", "nothing", f"solved, with the values {values}")
        self.expect(r.duality_gap_ == np.inf, "gap", f"no finite values, but the gap {r.duality_gap_:g}")
        return False

    def no_margin(self):
        """The optimum of the hinge's nu form has no margin: rho is 0 except for rounding, and optimal in that unit."""
        p, m = self.p, self.m
        self.expect(p.get("nu") is not None and p.get("loss") == "hinge", "no_margin", "the form has no margin to lose")
        unit = self.least_margin()
        self.expect(m.m <= unit, "no_margin", f"the margin is {m.m:.3g}, only up to {unit:.3g} it is none")
        v = m.violation() * max(m.unit, 1e-300)
        allowed = self.p["tol"] * unit + REL * float(np.abs(self.truth).max()) + 2 * float(np.max(m.noise))
        self.expect(v <= allowed, "no_margin", f"no margin, but a violation of {v:.3g}, allowed {allowed:.3g}")

    def least_margin(self):
        return NO_MARGIN * (1 - 1 / self.f.T) * float(np.diag(self.f.K).max())

    def values(self):
        m, r = self.m, self.model
        none = REL * self.f.T * self.least_margin() if r.status_ == "no_margin" else 0.0  # all terms may be rounding
        self.P, self.P_scale = (float(v) for v in m.primal(m.point))
        most = max(MOST, 2 * r.duality_gap_) if r.status_ == "solved" else np.inf
        slacks = SLACK * (1 + float(np.abs(self.truth).max())) * float(self.m.slope().sum())
        self.allow_p = none + REL * self.P_scale + min(self.noise_p, max(most * self.P_scale, slacks))
        off = abs(r.primal_objective_ - self.P)
        if getattr(
            m, "pairwise", False
        ):  # true at the best rho; each pair's own, which is no attribute, bounds it above
            off, self.P = max(self.P - r.primal_objective_, 0.0), max(self.P, r.primal_objective_)
        elif m.bounds and r.status_ == "time_limit":  # there may have been no time to do better than a bound
            off = max(self.P - r.primal_objective_, 0.0)
        self.worst["primal"] = off / max(self.P_scale, 1e-300)
        self.expect(off <= self.allow_p, "primal", f"primal_objective_ {r.primal_objective_:.10g}, true {self.P:.10g}")
        self.D, self.allow_d = float(r.dual_objective_), REL * abs(float(r.dual_objective_))
        truth = m.dual(m.point)
        if truth is not None:
            D, scale = (float(v) for v in truth)
            least = self.noise_d * min(1.0, float(np.finfo(float).eps / self.f.eps))  # of float64, whatever cancels
            self.allow_d = none + REL * scale + max(min(self.noise_d, most * scale), least)
            off = r.dual_objective_ - D
            if getattr(m, "shifted", False):  # D is the best of all variables with these coefficients
                off = max(off, 0.0)
            elif m.bounds and r.status_ != "solved" and off > self.allow_d:  # a point before this one proves more
                best = np.inf if indefinite(self.f.K, m.zero_sums) else self.solved()
                self.expect(best >= self.D, "dual", f"dual_objective_ {self.D:.10g}, the optimum is below {best:.10g}")
                off = max(D - r.dual_objective_, 0.0)
            else:
                self.D = D
            self.worst["dual"] = abs(off) / max(scale, 1e-300)
            self.expect(abs(off) <= self.allow_d, "dual", f"dual_objective_ {r.dual_objective_:.10g}, true {D:.10g}")

    def solved(self):
        """A primal value of the same problem without limits: no bound is above it."""
        params = self.p | dict(max_iter=10_000_000, time_limit=10.0)
        fit = Problem(**vars(self.problem) | dict(params=params)).model()
        fit.fit(self.problem.X, self.problem.y, sample_weight=self.problem.weight)
        m = family(facts(self.problem, fit))
        P, scale = (float(v) for v in m.primal(m.point))
        return P + REL * scale + float((m.slope() * m.noise).sum())

    def certificate(self):
        r, tol = self.model, self.p["tol"]
        slack = self.allow_p + self.allow_d
        self.expect(self.P + slack >= self.D, "order", f"true dual {self.D:.10g} above true primal {self.P:.10g}")
        P, D = r.primal_objective_, r.dual_objective_
        formula = max(P - D, 0.0) / max(abs(P), abs(D), 1e-300)
        same = abs(r.duality_gap_ - formula) <= 1e-9 + 1e-6 * formula
        self.expect(same, "gap", f"duality_gap_ {r.duality_gap_:.6g}, of the claimed values {formula:.6g}")
        size = max(abs(self.P), abs(self.D), 1e-300)
        true = max(self.P - self.D, 0.0) / size
        off = true - r.duality_gap_
        self.worst["gap"] = off
        self.expect(off <= slack / size, "gap", f"duality_gap_ {r.duality_gap_:.3g}, true {true:.3g}")
        if r.status_ != "solved":
            return
        v = self.m.violation()
        by_gap = self.p.get("solver") in ("ksk", "mdm") or v is None
        if by_gap:
            self.expect(r.duality_gap_ <= tol * (1 + REL), "solved", f"solved with the gap {r.duality_gap_:.3g} > tol")
            self.expect(true <= tol + slack / size, "solved", f"solved with the true gap {true:.3g}, tol={tol:g}")
            return
        self.expect(r.kkt_violation_ <= tol * (1 + REL), "solved", f"solved at kkt_violation_ {r.kkt_violation_:.3g}")
        allowed = tol + (REL * float(np.abs(self.truth).max()) + 2 * float(np.max(self.m.noise))) / max(
            self.m.unit, 1e-300
        )
        self.worst["kkt"] = v - tol
        self.expect(v <= allowed, "kkt", f"solved with the true violation {v:.3g}, claimed {r.kkt_violation_:.3g}")

    def beaten(self):
        """No other feasible point may have a dual value above the primal, or a primal value below the dual."""
        if len(self.f.on) > FEW or self.model.status_ != "solved":
            return
        r = self.model
        for q in self.m.others(np.random.default_rng(0)):
            P, P_scale = (float(v) for v in self.m.primal(q))
            low = r.dual_objective_ - self.allow_d - self.allow_p - REL * P_scale
            self.expect(low <= P, "beaten", f"dual_objective_ {r.dual_objective_:.8g}: another primal value is {P:.8g}")
            truth = self.m.dual(q)
            if truth is None or getattr(self.m, "shifted", False):
                continue
            D, D_scale = (float(v) for v in truth)
            high = r.primal_objective_ + self.allow_p + self.allow_d + REL * D_scale
            self.expect(
                high >= D, "beaten", f"primal_objective_ {r.primal_objective_:.8g}: another dual value is {D:.8g}"
            )

    def decisions(self):
        name, model, X = self.problem.estimator, self.model, self.problem.X
        truth = self.truth
        if name == "EnclosingBall":
            given, N = model.score_samples(X), noise(self.f, self.m.point[None, :]).max()
            N = 3 * N + 8 * self.f.eps * float(np.abs(np.diag(self.f.K_all)).max())
        elif name == "StructuredSVC":
            given, N = model.decision_function(X), 2 * float(np.max(self.m.noise))
        else:
            given, N = self.given(), 2 * float(noise(self.f, coefficients(self.f, len(model.intercept_))).max())
        if given is not None:
            truth = truth.reshape(given.shape)
            off, size = float(np.abs(given - truth).max()), float(np.abs(truth).max())
            known = self.p["tol"] * abs(getattr(model, "rho_", 1.0))  # float32 scores are for models as exact as that
            if self.f.single:
                N = max(N, known)
            elif model.status_ == "solved":
                N = min(N, max(known, MOST * size, SLACK))
            self.worst["scores"] = off / max(size, 1e-300)
            self.expect(off <= REL * size + N, "scores", f"decision values off by {off:.3g}, the largest is {size:.3g}")
        F, labels = model.decision_function(X), model.predict(X)
        if name == "EnclosingBall":
            self.expect(np.array_equal(labels, np.where(F >= 0, 1, -1)), "predict", "predict is not the sign")
            return
        if F.ndim == 1:
            F = np.column_stack((np.zeros(len(F)), F))
        top = np.sort(F, axis=1)
        clear = top[:, -1] - top[:, -2] > N + REL * np.abs(F).max()
        wrong = np.count_nonzero(clear & (model.classes_[F.argmax(axis=1)] != labels))
        self.expect(not wrong, "predict", f"{wrong} predictions are not the argmax of decision_function")
        self.votes(truth, labels, N)

    def given(self):
        """What the model returns in the place of the scores by the definition."""
        model, X = self.model, self.problem.X
        if self.problem.estimator == "PairwiseSVC":
            return model.pair_decision_function(X)
        if self.problem.estimator == "OutputCodeSVC":
            return model.code_decision_function(X)
        if self.p.get("scheme") == "pairwise" and self.f.T > 2:
            return None
        return model.decision_function(X)

    def votes(self, F, labels, N):
        """Pairs: a class with most votes by the definition wins, where no score is within rounding of zero."""
        pairs = getattr(self.model, "pairs_", None)
        if pairs is None or self.p.get("decision") == "dag" or self.f.T == 2:
            return
        count = np.zeros((len(F), self.f.T))
        for f, (a, b) in zip(F.T, pairs, strict=True):
            count[:, a] += f > 0
            count[:, b] += f <= 0
        top = np.sort(count, axis=1)
        clear = (np.abs(F).min(axis=1) > N + REL * np.abs(F).max()) & (top[:, -1] > top[:, -2])
        wrong = np.count_nonzero(clear & (self.model.classes_[count.argmax(axis=1)] != labels))
        self.expect(not wrong, "votes", f"{wrong} predictions have not the most votes")
