"""Mutants of the package and the core that change nothing a test could notice: (file, what it was and is) -> why."""

SPEED = "decides whether equal rows are looked for, which is a matter of speed"
MARKS = "other marks of rows, as good as these"
BETWEEN = "a step in between goes elsewhere; the gradient is recomputed before anything is claimed"
ABOVE = "writes above the diagonal, where nothing is read"
BEFORE = "while (before < count && list[before] < k) ++before;  ->  "
ROTATED = "y[k] = c * above + s * below, y[k + 1] = c * below - s * above;  ->  "

EQUIVALENT: dict[tuple[str, str], str] = {
    ("training/equal_rows.py", "distinct = 1 + np.count_nonzero(mark[1:] != mark[:-1]):  1  ->  2"): SPEED,
    ("training/equal_rows.py", "return bits ^ (bits >> np.uint64(32)):  32  ->  33"): MARKS,
    ("dual/factor.cpp", f"{ROTATED}y[k] = c * above - s * below, y[k + 1] = c * below - s * above;"): BETWEEN,
    ("dual/factor.cpp", f"{ROTATED}y[k] = c * above + s * below, y[k + 1] = c * below + s * above;"): BETWEEN,
    ("dual/factor.cpp", f"{BEFORE}while (before < count && list[before] <= k) ++before;"): ABOVE,
}
