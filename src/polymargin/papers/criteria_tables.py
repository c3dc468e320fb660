"""The printed tables of Wang, Xue and Chan (2008); the computations are in criteria.py.

Tables VI and VII print the cross-validation columns of IV and V once more; they are left out here.
"""

from __future__ import annotations

from . import criteria
from .criteria import printed
from .exhibit import NEAR, Exhibit, Value, columns_of, exhibits_of, rows_of, table

exhibit = exhibits_of("criteria", "Wang, Xue and Chan 2008, IEEE Trans. SMC B 38(6), ")


def columns(methods: tuple[str, ...], by: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{b}, {m}" for b in by for m in methods)


TWO, FOUR = ("1vs1", "1vsall"), ("dag", "dense", "sparse", "single")
CRITERIA, ALL = ("I", "II"), ("I", "II", "CV")
SEARCH = dict(columns=("I, search", "II, search"), measures=("iterations", "evaluations"))

ERROR = ("error [%]",)

TABLE_4 = table(printed("criteria-table-4"), columns=columns(TWO, ALL), measures=ERROR)
TABLE_4 |= table(printed("criteria-table-4-search"), **SEARCH)
TABLE_5 = table(printed("criteria-table-5"), columns=columns(FOUR, ALL), measures=ERROR)
TABLE_6 = table(printed("criteria-table-6"), columns=columns(TWO, CRITERIA), measures=ERROR)
TABLE_6 |= table(printed("criteria-table-6-search"), **SEARCH)
TABLE_7 = table(printed("criteria-table-7"), columns=columns(FOUR, CRITERIA), measures=ERROR)
# The heads of the columns print "Spatial" for spherical, and the second one of criterion II is the ellipsoidal kernel.
TABLE_8 = table(
    printed("criteria-table-8"),
    columns=("I, spherical", "I, ellipsoidal", "II, spherical", "II, ellipsoidal", "5-fold CV"),
    measures=("train [s]",),
)
USPS = columns(("1vs1", "1vsall", "dag"), CRITERIA)
TABLE_9 = table(printed("criteria-table-9"), columns=USPS, measures=ERROR)

# A gamma per pixel by a part of the rows, beside the printed errors and not judged by them.
PART = {(criteria.PART, column, "test error [%]"): TABLE_9["ellipsoidal", column, "error [%]"] for column in USPS}

DECIDED = (
    'Machines use the squared hinge, C/2 sum xi^2, as the criteria do; "single" is JointSVC\'s kesler machine with C '
    "scaled to the same binary problem. Every half has a new code, drawn with its number as the seed; on the "
    "official test rows, the errors of the codes are means over five.",
    "C and gamma are the medians of the first five halves, for the criteria too. The paper says so for "
    "cross-validation; for the criteria it says only that these five halves are used.",
    "Features are scaled by the training half, and a missing age in Dermatology becomes the mean. Halves are random "
    "and not stratified.",
)
BY_CV = (
    "Cross-validation uses a 30 x 30 grid, C = 2^-2 .. 2^12, gamma = 2^-10 .. 2^4 (the paper does not print its "
    "limits), searched from coarse to fine: 5 x 5 points, then three times the neighbors of the best point at half "
    "the distance. All columns are tested on all 100 halves, and the deviation is over these. On Yeast, and for "
    "dense code and the single machine on Car, Segment and Satimage, cross-validation is stored with C and gamma of "
    "one half instead of five.",
)
BY_FEATURE = (
    "All 100 random halves are tested.",
    "Tables VI and VII follow one rule, which was set before they were run, except for the next remark: one start at "
    "C = 1, gamma = 1/(2d), as in the paper; at most the printed number of iterations for the set and criterion, "
    "rounded up, because our optimizer goes further down before it meets the paper's stopping rule; then the median "
    "of each gamma over the five halves. Two tables below show other rules.",
    "For DNA and Satimage with criterion II, the printed iterations are copied from table IV, a misprint, so we use "
    "those of criterion I. We noticed this after a run with the copied numbers, in which Satimage with criterion II "
    "had errors of 12.95 to 14.08% (`python -m benchmarks.paper_checks copies`).",
)
FAST_SETS = ("Iris", "Wine", "Zoo")


TWO_MINIMA = (
    "The cause is the median, not the search: the five searches end in two kinds of minima, and the median of each "
    'gamma belongs to neither. With the parameters of the half with the smallest criterion (see "Smallest criterion" '
    "below), the six errors are within the printed deviations."
)
SINGLE = (
    "The cause may be the unit of C. The printed error is 24.11, while the five other methods have 28.30 to 28.91 at "
    "the same C and gammas. Our single machine uses a quarter of that C, which gives the same binary problem; with C "
    'unscaled (see "Single machine" below) its error is 24.19.'
)
SHORT = (
    'The rule cuts the search short: with two starts until solved (see "Two starts" below), Satimage has 11.05 and '
    "11.00% here."
)
REASONS = {
    ("Segment", "I, dense"): (
        'The paper seems to use other parameters. At C = 1.13 and gamma = 0.8 (see "Segment" below), DAG, dense and '
        "sparse code have 4.68, 5.11 and 5.55, close to the printed 4.66, 4.94 and 5.33; our searches end at gamma = "
        "0.55, close to the errors of table IV. With criterion II, too, tables IV and V do not fit one gamma: "
        "one-vs-one and DAG use the same machines, yet 3.84 and 4.70 are printed for them."
    ),
    ("Satimage", "CV, dense"): (
        "C and gamma are those of one half instead of five; sparse code has 8.97% with those of one half and 8.77% "
        "with those of five."
    ),
}


def errors(number: int, title: str, values: dict, kernel: str) -> Exhibit:
    """A table of test errors."""
    names = columns_of(values)
    return exhibit(
        f"table {number}",
        title,
        f"table {('IV', 'V', 'VI', 'VII')[number - 4]}",
        printed=values,
        compute=criteria.cell(kernel),
        own=tuple(name for name in names if not name.startswith("CV")),
        fast_rows=FAST_SETS[:2],
        decided=DECIDED + (BY_CV if kernel == "spherical" else BY_FEATURE),
        reasons={("Segment", name): TWO_MINIMA for name in names if kernel == "ellipsoidal" and name[:3] == "II,"}
        | ({("Vehicle", "II, single"): SINGLE, ("Satimage", "I, dag"): SHORT} if number == 7 else {})
        | ({("Satimage", "I, 1vs1"): SHORT} if number == 6 else {})
        | (REASONS if number == 5 else {}),
        safe={
            "Car": "our errors are far below the printed ones, which are those of the set without its feature lug_boot"
        },
    )


def near_printed() -> dict[tuple[str, str], tuple[str, ...]]:
    """(data set, criterion and kernel) -> the methods whose printed test error is near that of cross-validation."""
    by_cv: dict[tuple, Value] = TABLE_4 | TABLE_5
    where = {}
    for kernel, values in (("spherical", by_cv), ("ellipsoidal", TABLE_6 | TABLE_7)):
        for row in rows_of(by_cv):
            for c in CRITERIA:
                where[row, f"{c}, {kernel}"] = tuple(
                    m
                    for m in TWO + FOUR
                    if criteria.near(values[row, f"{c}, {m}", "error [%]"], by_cv[row, f"CV, {m}", "error [%]"])
                )
    return where


WHERE_NEAR = near_printed()

EXHIBITS = (
    errors(4, "Test errors, spherical kernel, one-vs-one and one-vs-all", TABLE_4, "spherical"),
    errors(5, "Test errors, spherical kernel, DAG, codes and single machine", TABLE_5, "spherical"),
    errors(6, "Test errors, ellipsoidal kernel, one-vs-one and one-vs-all", TABLE_6, "ellipsoidal"),
    errors(7, "Test errors, ellipsoidal kernel, DAG, codes and single machine", TABLE_7, "ellipsoidal"),
    exhibit(
        "cross-validation",
        "Methods out of six with a test error within a standard deviation of that of cross-validation",
        "tables IV to VII",
        printed={(*place, NEAR): (float(len(methods)), None) for place, methods in WHERE_NEAR.items() if methods},
        compute=criteria.near_cross_validation(WHERE_NEAR),
        own=tuple(f"{c}, {kernel}" for kernel in ("spherical", "ellipsoidal") for c in CRITERIA),
        fast_rows=(),
        decided=(
            "Cells of tables IV to VII are counted if they are at most the error of cross-validation plus its "
            "standard deviation, or plus one point on the official test rows. The printed number is how many of the "
            "six methods are that near in the paper's own figures; ours are counted among these. Cross-validation "
            "has one gamma.",
            "Of the 27 cells out of 223 that are not near, 18 belong to Car, where the printed errors come from "
            'other data (see "Car without lug_boot" below) and cross-validation gains most. The others are six of '
            "Segment, two of Dermatology with criterion II and one of Glass with criterion I.",
        ),
    ),
    exhibit(
        "table 8",
        "Time of model selection",
        "table VIII",
        printed=TABLE_8,
        compute=criteria.nothing,
        clock=criteria.selection_time,
        own=("I, spherical", "I, ellipsoidal", "II, spherical", "II, ellipsoidal"),
        reference="5-fold CV",
        fast_rows=FAST_SETS[:1],
        decided=(
            "Times are for one training half on one core. With one gamma per feature, there are two starts, each "
            "until it is solved, which is the default of RadiusMarginSearch and takes longer than the rule of table "
            "6. Cross-validation is LIBSVM's one-vs-one: nine points spread over the 30 x 30 grid are timed and "
            "multiplied by 100.",
        ),
    ),
    exhibit(
        "table 9",
        "Test errors on USPS",
        "table IX",
        printed=TABLE_9 | PART,
        compute=criteria.usps,
        own=USPS,
        fast_rows=(),
        decided=(
            "Machines and criteria use all 7,291 training rows. With one gamma per pixel, there are two starts, "
            'each until it is solved. The row "ellipsoidal, 3,000 rows" shows a search on a random part of the rows, '
            "which is not judged: it takes 16 s on one core, 0.16 s for each evaluation, and 0.06 s with 1,500 rows "
            "(AVX-512; `python -m benchmarks.paper_checks pixels`). One-vs-all gives the printed errors of the "
            "spherical kernel to the row.",
        ),
    ),
)
