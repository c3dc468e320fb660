"""Mutants of the package and the core that change nothing a test could notice: (file, what it was and is) -> why."""

SPEED = "decides whether equal rows are looked for, which is a matter of speed"
MARKS = "other marks of rows, as good as these"
BETWEEN = "a step in between goes elsewhere; the gradient is recomputed before anything is claimed"
ABOVE = "writes above the diagonal, where nothing is read"
SAME = "differs only where two computed numbers are the same, to the bit"
BEFORE = "while (before < count && list[before] < k) ++before;  ->  "
ROTATED = "y[k] = c * above + s * below, y[k + 1] = c * below - s * above;  ->  "

CORE_ERROR = "return error if error > MOST_ROUNDING * size or slacks.is_hidden(np.array([error]), slacks.slopes) e:  "
HIDDEN = "max(MOST_ROUNDING * self.size, EPS "
ROOT = "(np.sqrt(2 * self.size) + root) * root"
QUANTILE = "np.quantile(errors * strength, 1 - HEAVY)"
ROUNDED = 'if out["status"] != "solved" or self.error(q) <= tol * self.unit(out)::  self.error(q) '
INSIDE = "with fewer than two rows outside the end is here, whatever the slope"

END = "bisection ends at the same number, and rounds beyond those that are needed change nothing"
SIGN = "a column of two classes is 1 and -1, and 1 / -1 = -1"
LIGHT = "if len(W) * most.min() >= 1 - 1e-12 or len(W) * most_before.min() < 1 - 1e-12::"
ENDS = "low, high = np.where(total < sums, middle, low), np.where(total < sums, high, middle):"
NEAR = "if np.all(np.abs(sums - total) <= NEAR * total):  # variables at a bound are likely right: free ones:"
LATE = "return all_pairs(self.n_classes).astype(self.dtype if dtype is None else dtype, copy=False):"
COLUMN = "F[:, 0] * float(self.code[1, 0])"

EQUIVALENT: dict[tuple[str, str], str] = {
    ("core_vectors/forecast.py", "slope = np.log(V / max(outside, 1.0)) / np.log(core / m):  1.0  ->  2.0"): INSIDE,
    ("training/certificates.py", f"{CORE_ERROR}error > MOST_ROUNDING * size  ->  error >= MOST_ROUNDING * size"): SAME,
    (
        "training/certificates.py",
        f"return float(slopes @ error) > {HIDDEN}* float(slopes.sum())):  "
        f"float(slopes @ error) > {HIDDEN}*  ->  float(slopes @ error) >= {HIDDEN}",
    ): SAME,
    ("training/certificates.py", f"return bool({ROOT} > largest):  {ROOT} > largest  ->  {ROOT} >= largest"): SAME,
    ("training/runs.py", f"if {QUANTILE} > tol::  {QUANTILE} > tol  ->  {QUANTILE} >= tol"): SAME,
    ("training/runs.py", f"{ROUNDED}<= tol * self.unit(out)  ->  self.error(q) < tol * self.unit(out)"): SAME,
    (
        "training/runs.py",
        'hidden = out["status"] == "solved" and values.error * norm(out) > 1:  values.error * norm(out) > 1  ->  '
        "values.error * norm(out) >= 1",
    ): SAME,
    (
        "training/expansions.py",
        "return self.kernel in kernels.BOUNDED and self._vectors.shape[0] * self._vectors.shape[1] > CHEAP:  0  ->  1",
    ): "decides whether float32 values are thought of, which is a matter of speed: their error is judged on its own",
    ("training/starting_points.py", "for _ in range(50)::  50  ->  51"): END,
    ("training/starting_points.py", "for _ in range(200)::  200  ->  201"): END,
    (
        "training/starting_points.py",
        "low, high = np.full(len(sums), -100.0), np.full(len(sums), 100.0):  100.0  ->  101.0",
    ): END,
    ("training/starting_points.py", f"{ENDS}  total < sums  ->  total <= sums"): SAME,
    (
        "training/starting_points.py",
        f"{NEAR}  np.abs(sums - total) <= NEAR * total  ->  np.abs(sums - total) < NEAR * total",
    ): SAME,
    (
        "training/starting_points.py",
        "grows = np.repeat(missing > 0, size):  missing > 0  ->  missing >= 0",
    ): "where nothing is missing nothing moves, up or down",
    (
        "training/priors.py",
        f"{LIGHT}  len(W) * most_before.min() < 1 - 1e-12  ->  len(W) * most_before.min() <= 1 - 1e-12",
    ): SAME,
    (
        "training/priors.py",
        f"{LIGHT}  len(W) * most.min() >= 1 - 1e-12  ->  len(W) * most.min() > 1 - 1e-12",
    ): SAME,
    ("training/priors.py", "light = most < 1 / len(W):  most < 1 / len(W)  ->  most <= 1 / len(W)"): SAME,
    (
        "training/priors.py",
        "if not np.any(more := ~light & (share > most))::  share > most  ->  share >= most",
    ): SAME,
    (
        "training/priors.py",
        "light = priors > room * (1 - 1e-9):  priors > room * (1 - 1e-09)  ->  priors >= room * (1 - 1e-09)",
    ): SAME,
    (
        "training/pair_codes.py",
        "for a in range(n_classes - 1)::  n_classes - 1  ->  n_classes + 1",
    ): "the last class has no pairs left, and those beyond it have none",
    ("training/pair_codes.py", f"{LATE}  False  ->  True"): "a copy of the same numbers",
    ("training/decisions.py", f"f = {COLUMN}:  {COLUMN}  ->  F[:, 0] / float(self.code[1, 0])"): SIGN,
    ("training/decisions.py", f"return {COLUMN}:  {COLUMN}  ->  F[:, 0] / float(self.code[1, 0])"): SIGN,
    ("training/equal_rows.py", "distinct = 1 + np.count_nonzero(mark[1:] != mark[:-1]):  1  ->  2"): SPEED,
    (
        "training/equal_rows.py",
        "return bool(distinct <= WORTH * n if few else distinct < len(mark)):  distinct <= WORTH * n if few else "
        "distinct < len(mark)  ->  distinct <= WORTH * n if not few else distinct < len(mark)",
    ): SPEED,
    ("training/equal_rows.py", "return bits ^ (bits >> np.uint64(32)):  32  ->  33"): MARKS,
    ("dual/factor.cpp", f"{ROTATED}y[k] = c * above - s * below, y[k + 1] = c * below - s * above;"): BETWEEN,
    ("dual/factor.cpp", f"{ROTATED}y[k] = c * above + s * below, y[k + 1] = c * below + s * above;"): BETWEEN,
    ("dual/factor.cpp", f"{BEFORE}while (before < count && list[before] <= k) ++before;"): ABOVE,
}
