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
    ("training/equal_rows.py", "distinct = 1 + np.count_nonzero(mark[1:] != mark[:-1]):  1  ->  2"): SPEED,
    ("training/equal_rows.py", "return bits ^ (bits >> np.uint64(32)):  32  ->  33"): MARKS,
    ("dual/factor.cpp", f"{ROTATED}y[k] = c * above - s * below, y[k + 1] = c * below - s * above;"): BETWEEN,
    ("dual/factor.cpp", f"{ROTATED}y[k] = c * above + s * below, y[k + 1] = c * below + s * above;"): BETWEEN,
    ("dual/factor.cpp", f"{BEFORE}while (before < count && list[before] <= k) ++before;"): ABOVE,
}
