"""What tables IV to VII of Wang, Xue and Chan (2008) depend on: other rules of the search, and another Car.

Shown beside the printed figures, not judged by them.
"""

from __future__ import annotations

from math import ceil, log2

import numpy as np

from . import criteria
from .criteria_tables import CRITERIA, FAST_SETS, FOUR, TABLE_4, TABLE_5, TABLE_6, TABLE_7, TWO, exhibit
from .exhibit import Place, Value, columns_of, pair, rows_of, unprinted
from .store import recalled

SHOWN = "test error [%]"
METHODS = TWO + FOUR
ELLIPSOIDAL = TABLE_6 | TABLE_7
OFF = ("Dermatology", "Vehicle", "Segment")  # sets on which criterion II in tables VI and VII depends on the rule
LEAST = {place: value for place, value in ELLIPSOIDAL.items() if place[0] in OFF and place[1].startswith("II, ")}


def shown(values: dict[Place, Value]) -> dict[Place, Value]:
    """Printed errors under the measure that is shown only."""
    return {(row, column, SHOWN): value for (row, column, measure), value in values.items() if measure == "error [%]"}


def constant_printed() -> dict[Place, Value]:
    """The printed errors of Car, a row for each method."""
    printed = {}
    for kernel, values in (("spherical", TABLE_4 | TABLE_5), ("ellipsoidal", ELLIPSOIDAL)):
        for method in METHODS:
            for by in ("I", "II"):
                if ("Car", f"{by}, {method}", "error [%]") in values:
                    printed[method, f"{by}, {kernel}", SHOWN] = values["Car", f"{by}, {method}", "error [%]"]
    return printed


def until_solved(row: str, column: str, fast: bool) -> dict:
    """Tables VI and VII with two starts, each until it is solved: the default of RadiusMarginSearch."""
    by, method = column.split(", ")
    p = criteria.searched(row, by, "ellipsoidal", fast, limited=False)
    error = criteria.error_of(row, method, p["C"], p["gamma"], criteria.halves(fast))
    return {SHOWN: error, "C": p["C"], "gamma": p["gamma"]}


# ---- the penalty against scarce rows -------------------------------------------------------------

PENALTIES = (0.0, 0.1, 1.0, 10.0)


def penalized(row: str, column: str, fast: bool) -> dict:
    """One-vs-one with a gamma per feature, the logarithm of the criterion plus a penalty on the spread of ln gamma."""
    by, weight = column.split(", ")
    found = []
    for k in range(1 if fast else criteria.CHOSEN_ON):
        X, y, *_ = criteria.half(row, k)
        found.append(criteria.search(X, y, by, "ellipsoidal", n_starts=1, penalty=float(weight)).best_params_)
    C, gamma = (np.median([p[name] for p in found], axis=0) for name in ("C", "gamma"))
    return {SHOWN: criteria.error_of(row, "1vs1", C, gamma, criteria.halves(fast))}


# ---- the C of the single machine, and the widths of Segment ----------------------------------------


SMALL = ("Iris", "Wine", "Glass", "Dermatology", "E.coli", "Zoo", "Vowel", "Vehicle")  # sets, at most 1,000 rows


def plain_single(row: str, column: str, fast: bool) -> dict:
    """The single machine with the C of the criterion as it stands, four times that of tables V and VII."""
    by, kernel = column.split(", ")
    p = criteria.chosen(row, by, kernel, fast)
    error = criteria.error_of(row, "single", p["C"] / criteria.SINGLE, p["gamma"], criteria.halves(fast))
    return {SHOWN: error, "C": p["C"], "gamma": p["gamma"]}


def single_printed() -> dict[Place, Value]:
    """The printed errors of the single machine, a column for each criterion and kernel."""
    return {
        (row, f"{by}, {kernel}", SHOWN): values[row, f"{by}, single", "error [%]"]
        for kernel, values in (("spherical", TABLE_5), ("ellipsoidal", TABLE_7))
        for row in SMALL
        for by in ("I", "II")
    }


# Of Segment: where its errors of table V are found. Those of table IV are at the C and gamma that the criteria choose.
WIDTHS = {"I, C = 1.13, gamma = 0.8": (1.13, 0.8), "II, C = 16, gamma = 0.045": (16.0, 0.045)}


def at_width(row: str, column: str, fast: bool) -> dict:
    """A method on Segment with one gamma; rows are points (C, gamma) here."""
    C, gamma = WIDTHS[row]
    return {SHOWN: criteria.error_of("Segment", column, C, gamma, criteria.halves(fast)), "C": C, "gamma": gamma}


def widths_printed() -> dict[Place, Value]:
    """The printed errors of Segment by the criterion of the row."""
    values = TABLE_4 | TABLE_5
    return {
        (row, method, SHOWN): values["Segment", f"{row.split(',')[0]}, {method}", "error [%]"]
        for row in WIDTHS
        for method in METHODS
    }


# ---- table I: quadratic programs -----------------------------------------------------------------

TRIED, FOLDS = 30, 5  # values of each of the two parameters, folds
LOADS = {
    "CV, one-vs-all": lambda T: TRIED**2 * FOLDS * T,
    "CV, one-vs-one": lambda T: TRIED**2 * FOLDS * T * (T - 1) // 2,
    "LOO bound, dense code": lambda T: TRIED**2 * ceil(10 * log2(T)),
    "LOO bound, sparse code": lambda T: TRIED**2 * ceil(15 * log2(T)),
    "GACV, single machine": lambda T: TRIED**2,
}


def programs(row: str, column: str, fast: bool) -> dict:
    """Quadratic programs of a model selection with one gamma, by table I and our number of evaluations."""
    T = len(np.unique(criteria.raw(row).y_train))
    if column in LOADS:
        return {"value": LOADS[column](T)}
    by = column.removeprefix("criterion ")
    done = recalled("criteria-table-4").get((row, f"{by}, search"), {})
    e = done["evaluations"] if done else criteria.searched(row, by, "spherical", fast)["evaluations"]
    pairs = T * (T - 1) // 2
    return {"value": float(pair(e)[0]) * (2 * pairs if by == "I" else pairs + 1)}


LOAD_PRINTED = unprinted(rows_of(TABLE_4), ("criterion I", "criterion II", *LOADS), "value")
# In the text of table IV; its 2,700 programs of cross-validation forget the five folds.
LOAD_PRINTED["Iris", "criterion I", "value"] = (156.0, None)
LOAD_PRINTED["Iris", "CV, one-vs-one", "value"] = (2700.0, None)

EXHIBITS = (
    exhibit(
        "table 1",
        "Quadratic programs of a model selection with one gamma",
        "table I, and the text of table IV for Iris",
        printed=LOAD_PRINTED,
        compute=programs,
        own=("criterion I", "criterion II"),
        fast_rows=FAST_SETS[:1],
        decided=(
            f"These are the formulas of table I with {TRIED} values of C and of sigma and {FOLDS} folds, and for the "
            "criteria with our numbers of evaluations in table 4. The programs differ in size: those of pairs have "
            "the rows of two classes, and that of GACV has T times all rows.",
            "The paper mentions the leave-one-out bounds of codes and GACV only here and prints no errors for them, "
            "so they are not rerun.",
        ),
    ),
    exhibit(
        "smallest criterion",
        "Tables VI and VII with the parameters of the half with the smallest criterion",
        "tables VI and VII",
        printed=shown(LEAST),
        compute=criteria.least_cell,
        own=columns_of(shown(LEAST)),
        fast_rows=OFF[:1],
        decided=(
            "The table has the sets for which the rule matters. The searches are those of tables 6 and 7, and the "
            "half with the smallest criterion among the five gives C and the gammas. These cells are not judged, "
            "because the rule of tables 6 and 7 is the median.",
        ),
    ),
    exhibit(
        "single machine",
        "Single machine with the C of the criterion, unscaled",
        "tables V and VII, columns single",
        printed=single_printed(),
        compute=plain_single,
        own=columns_of(single_printed()),
        fast_rows=FAST_SETS[:1],
        decided=(
            "In tables 5 and 7, the C of the single machine is scaled by a quarter to the binary problem that the "
            "criteria bound; the paper does not say in which unit its C is. With C unscaled, 12 of the 32 cells come "
            "closer to the printed ones, including the exception of table 7, Vehicle with criterion II, and 20 do "
            "not, so the exception says little about the other cells. These cells are not judged.",
        ),
    ),
    exhibit(
        "segment",
        "Tables IV and V on Segment at two other widths",
        "tables IV and V, Segment",
        printed=widths_printed(),
        compute=at_width,
        own=METHODS,
        fast_rows=tuple(WIDTHS)[:1],
        decided=(
            "The criteria choose C = 1.13 and gamma = 0.55 (I) and C = 13.9 and gamma = 0.15 (II), where our errors "
            "of one-vs-one and one-vs-all are within the printed deviations of table IV. At the points shown here, "
            "which we found by looking at the printed errors, DAG and dense code are within those of table V with "
            "both criteria, and with criterion II one-vs-one and one-vs-all are far from table IV. No single point "
            "fits both tables. These cells are not judged.",
        ),
    ),
    exhibit(
        "two starts",
        "Tables VI and VII with two starts, each until it is solved",
        "tables VI and VII",
        printed=shown(ELLIPSOIDAL),
        compute=until_solved,
        own=columns_of(shown(ELLIPSOIDAL)),
        fast_rows=FAST_SETS[:1],
        decided=(
            "This is the default of RadiusMarginSearch: it starts from C = 1, gamma = 1/(2d) and from four times "
            "that gamma, continues until the criterion changes by less than 1e-5, and takes the better result. C and "
            "gamma are medians of five halves. Car, Yeast and Segment are stored with 20 halves, and codes on these "
            "and on Satimage with that of seed 0. These cells are not judged. The criterion is smaller than in "
            "tables 6 and 7, and so are 107 of the 156 errors; 148 of them are as good as printed, and 147 with the "
            "rule of tables 6 and 7.",
        ),
    ),
    exhibit(
        "car without lug_boot",
        "Test errors on Car with its feature lug_boot made constant",
        "tables IV to VII",
        printed=constant_printed(),
        compute=criteria.constant_cell,
        own=columns_of(constant_printed()),
        fast_rows=("1vs1",),
        decided=(
            "With all six features our errors are at most 3.1%; without this one they match the printed ones. The "
            "paper's set very likely lost that column. Tables 4 to 7 use the whole set. These cells are not judged, "
            "because we found this by looking at the printed errors. The search is that of tables 4 to 7.",
        ),
    ),
    exhibit(
        "penalty",
        "A penalty on the spread of the gammas where rows are scarce, one-vs-one",
        "text of table VI: regularization is mentioned as promising, without figures",
        printed=unprinted(("Glass", "Zoo"), [f"{by}, {weight:g}" for by in CRITERIA for weight in PENALTIES], SHOWN),
        compute=penalized,
        own=tuple(f"{by}, {weight:g}" for by in ("I", "II") for weight in PENALTIES[1:]),
        fast_rows=("Zoo",),
        decided=(
            "The search has one start and runs until solved; C and gamma are medians of five halves. The number in "
            "the column is the penalty of RadiusMarginSearch; 0 means none. On Glass, where the paper blames scarce "
            "rows, a penalty reduces the error by two to three points, to that of one gamma (table 4) and to the "
            "33.96% that a footnote of the paper gives for another setting of the optimizer. On Zoo, where classes "
            "are as small, it adds up to two points. So scarce rows alone do not explain the error.",
        ),
    ),
)
