"""The printed tables of Jenssen et al. (2012); the computations are in scatter.py."""

from __future__ import annotations

from . import scatter
from .exhibit import Exhibit, table
from .scatter import PLACE

TABLE_1 = table(
    """
    checker, 10 classes     | 35, 0.05        | 24, 0.06
    checker, 100 classes    | 49, 1.77        | 40, 1.59
    checker, 1,000 classes  | 50, 102.15      | 41, 85.21
    circle, 10 classes      | 22, 0.02        | 14, 0.01
    circle, 100 classes     | 24, 3.51        | 17, 2.11
    circle, 1,000 classes   | 22, 1229.30     | 18, 46.27
    circle, 10,000 classes  | 21, 197236.71   | 17, 42401.26
    """,
    columns=("OVR", "Scatter"),
    measures=("error [%]", "train + test [s]"),
)
# The numbers in brackets, support vectors of a class that only the "rest" of other machines has, are added.
TABLE_2 = table(
    """
    0   | 53,  -     | 72,  -
    6   | 47,  -     | 88,  -
    9   | 31,  -     | 56,  -
    all | 131, 99.87 | 216, 99.38
    """,
    columns=("Scatter", "OVR"),
    measures=("support vectors", "accuracy [%]"),
)
TABLE_3 = table(
    """
    0   | 58,  -     | 111, -
    1   | 39,  -     | 87,  -
    2   | 78,  -     | 148, -
    3   | 90,  -     | 149, -
    4   | 74,  -     | 141, -
    all | 339, 98.46 | 636, 98.06
    """,
    columns=("Scatter", "OVR"),
    measures=("support vectors", "accuracy [%]"),
)
TABLE_5 = table(
    """
    Iris        | 97.33 ± 3.44 | 97.33 ± 3.44 | 97.33 ± 3.44 | 97.33 ± 3.44 | 95.33 ± 5.49
    Wine        | 98.33 ± 2.68 | 98.33 ± 2.68 | 98.89 ± 2.34 | 98.89 ± 2.34 | 97.78 ± 2.87
    Glass       | 71.90 ± 7.60 | 70.95 ± 8.53 | 72.86 ± 8.11 | 70.48 ± 10.95 | 66.67 ± 13.09
    Vowel       | 99.24 ± 0.98 | 99.06 ± 1.33 | 99.44 ± 0.91 | 99.06 ± 1.33 | 81.08 ± 7.61
    Segment     | 97.62 ± 1.25 | 97.49 ± 1.08 | 97.71 ± 1.06 | 97.40 ± 1.14 | 89.83 ± 1.43
    MNIST (0-4) | 99.00 ± 0.62 | 99.20 ± 0.59 | 99.20 ± 0.42 | 99.20 ± 0.59 | 91.95 ± 1.76
    Satimage    | 90.60 | 90.95 | 91.00 | 90.55 | 80.45
    Dna         | 98.57 | 98.40 | 98.31 | 98.31 | 97.81
    USPS        | 94.92 | 95.76 | 95.47 | 95.47 | 83.46
    """,
    columns=("Scatter", "OVR", "OVO", "CS", "NB"),
    measures=("accuracy [%]",),
)
TABLE_6 = table(
    """
    MNIST (0-4) | 99.09 ± 1.46 | 98.18 ± 3.26 | 98.48 ± 2.58 | 98.18 ± 3.26
    USPS        | 86.55 | 88.19 | 88.04 | 88.29
    """,
    columns=("Scatter", "OVR", "OVO", "CS"),
    measures=("accuracy [%]",),
)
TABLE_7 = table(
    """
    Segment     | 0.86, 4.20e-3 | 0.13, 0.01 | 0.50, 0.01 | 164.70, 0.02
    MNIST (0-4) | 4.93, 4.80e-3 | 0.09, 0.01 | 0.34, 0.01 | 88.73, 8.40e-3
    Satimage    | 1.22, 0.09    | 0.43, 0.33 | 2.15, 0.28 | 1085, 0.33
    Dna         | 3.21, 0.05    | 0.15, 0.06 | 0.30, 0.09 | 3.13, 0.09
    USPS        | 4.24, 0.60    | 6.04, 2.50 | 49.31, 2.40 | 915, 2.42
    """,
    columns=("Scatter", "OVO", "OVR", "CS"),
    measures=("train [s]", "test [s]"),
)

MNIST = (
    "MNIST (0-4): 2,000 of the 5,139 test rows, drawn with seed 0; the paper does not name the part. "
    "One-vs-one decides, which has 99.20 % there: on a part of the grid it has 98.0 and 98.4 % on two draws from the "
    "training rows, 98.5 % on one from all rows, 98.6 and 99.1 % on two from the test rows. The set of figure 21, "
    "too, is a test part, that of USPS."
)
GRID = (
    "Folds are drawn with seed 0, ten of round(n/10) rows, not stratified. So the paper's seem to be: its means are "
    "multiples of 1/210 for the 214 rows of Glass, of 1/330 for the 334 of table 6 and of 1/180 for the 178 of Wine.",
    "Of parameters with equal accuracy the widest kernel and the smallest C are taken.",
    "The grid is searched coarsely first (kappa in steps of 2, then 1, then 0.2 around the best; Segment, Satimage, "
    "Dna and USPS with the five C from 0.25 to 63): points of the paper's grid only, so the search can only make our "
    "figures worse.",
    MNIST,
    "OVR is OneVsRestSVC and OVO PairwiseSVC (LIBSVM's models), CS is JointSVC's, NB is KernelDensityNB with "
    "h^2 = 1 / (2 gamma).",
)
DNA = (
    "Other data: all five methods are below their printed figures by 2.4 to 4.5 points in one run, while on USPS "
    "(table 6) the same code gives three methods' printed figures to the row. Wang, Xue and Chan print 95.1 to 95.8 % "
    "for six methods on this split, and Statlog's best is 95.9 %. With one class (EI) against the rest, a table below, "
    "Scatter SVM and the three other machines are within half a point of the printed figures, naive Bayes is not."
)
SAMPLE = (
    "The paper's 2,000 rows are not known. Three draws from the test rows give one-vs-one 98.6, 98.6 and 99.1 % and "
    "Scatter SVM 98.5, 98.6 and 98.8 %."
)
SIXTH = (
    "The draw decides: on the six sixths of the 2,000 rows Scatter SVM has 96.1 to 98.5 %, one-vs-one 96.4 to 98.2 % "
    "and one-vs-rest 96.4 to 98.5 % on a part of the grid. Every sixth row from the first on, as for USPS, is one of "
    "the hardest; which 334 rows the paper has is not known."
)
SPARSITY = (
    "Drawn with seed 0; the model is that of best validation accuracy (of equals the widest kernel, then the "
    "smallest C), which decides how many support vectors there are: several parameters share the best accuracy.",
    "OVR: the paper's numbers in brackets are added, so that every pattern is counted once.",
)

EXHIBITS = (
    Exhibit(
        paper="scatter",
        name="table 1",
        title="Many classes: errors and times of Scatter SVM and one-vs-rest",
        where=PLACE + "table 1",
        printed=TABLE_1,
        compute=scatter.many_classes,
        clock=scatter.many_classes_clock,
        own=("Scatter",),
        reference="OVR",
        fast_rows=("checker, 10 classes", "circle, 10 classes"),
        safe={row: "the generator is tuned to the printed errors" for row, _, _ in TABLE_1},
        decided=(
            "The standard deviation of the Gaussians (0.33 of the distance of neighbors) and the overlap of the "
            "fields (0.125) are not printed; they are chosen so that the errors of Scatter SVM are near the printed "
            "ones. The level of the errors says nothing then, only the difference of the methods does.",
            "Errors are means over 20 draws at 10 classes and over 5 from 100 on: 50 validation rows of a single draw "
            "say little.",
            "From 1,000 classes on, both methods take the parameters that were best at 100. At 10,000 classes "
            "one-vs-rest is left out: two of its 10,000 machines, on 50,000 rows, took 7.3 and 6.9 s of one core "
            "(AVX2, 2026-11-17), so all of them would take about 20 hours, and their tests come on top; printed are "
            "55 hours.",
            "nu = T/n, 0.5 and 0.999 for Scatter SVM, C = 0.01 .. 100 for one-vs-rest, sigma^2 = 0.1, 1, 5 for both.",
        ),
    ),
    Exhibit(
        paper="scatter",
        name="table 2",
        title="Support vectors on USPS digits 0, 6 and 9",
        where=PLACE + "table 2, and accuracies in the text before it",
        printed=TABLE_2,
        compute=scatter.sparsity_cell("USPS"),
        own=("Scatter",),
        decided=(*SPARSITY, "The printed accuracies are not multiples of 1/630; 99.84 and 99.37 are the nearest."),
    ),
    Exhibit(
        paper="scatter",
        name="table 3",
        title="Support vectors on MNIST digits 0 to 4",
        where=PLACE + "table 3, and accuracies in the text",
        printed=TABLE_3 | {("all", scatter.FIXED, m): (None, None) for m in ("support vectors", "accuracy [%]")},
        compute=scatter.sparsity_cell("MNIST"),
        own=("Scatter",),
        decided=(
            *SPARSITY,
            MNIST,
            "339 support vectors are 33.5 % of the training rows: 1,012 rows, and 988 to validate.",
            "A disagreement: here Scatter SVM has more support vectors than one-vs-rest, in the paper about half as "
            "many. The parameters decide the count: at kappa = 1 and C = 1000, a column of its own, it has about as "
            "few as printed, at a somewhat lower accuracy, so validation does not choose them here.",
        ),
    ),
    Exhibit(
        paper="scatter",
        name="table 5",
        title="Accuracy on nine benchmark sets",
        where=PLACE + "table 5 (sets: table 4)",
        printed=TABLE_5,
        compute=scatter.benchmark,
        own=("Scatter",),
        reasons={
            (row, column): reason
            for row, reason in (("Dna", DNA), ("MNIST (0-4)", SAMPLE))
            for column in ("Scatter", "OVR", "OVO", "CS", "NB")
        },
        fast_rows=("Iris", "Wine", "Glass", "Dna"),
        decided=("Parameters are chosen by the accuracies that are shown, test rows included, as in the paper.", *GRID),
    ),
    Exhibit(
        paper="scatter",
        name="table 6",
        title="High dimension, low sample size",
        where=PLACE + "table 6",
        printed=TABLE_6,
        compute=scatter.small_sample,
        own=("Scatter",),
        reasons={("MNIST (0-4)", column): SIXTH for column in ("Scatter", "OVR", "OVO", "CS")},
        fast_rows=("MNIST (0-4)",),
        decided=(
            "Every 20th training row of USPS, from the first on: its smallest class has 19 rows and its largest 64, as "
            "the paper says (it counts 364 rows, but a twentieth of 7,291 is 365). Scatter SVM, one-vs-rest and "
            "one-vs-one then have the printed accuracy to the row.",
            "Every sixth of the 2,000 rows of table 5's MNIST (0-4) are the 334 that the paper counts.",
            "Of parameters with equal accuracy the widest kernel and the smallest C are taken. The paper's whole grid.",
            GRID[0],
            GRID[-1],
        ),
    ),
    Exhibit(
        paper="scatter",
        name="table 7",
        title="Training and test times at C = 1000",
        where=PLACE + "table 7",
        printed=TABLE_7,
        compute=scatter.no_accuracy,
        clock=scatter.times,
        own=("Scatter",),
        reference="OVO",
        fast_rows=("Segment", "Dna"),
        decided=(
            "Means over four kernel widths, kappa = -8, -4, 0, 4 (USPS: -6), and one fold; the paper averages over all "
            "76 and ten folds. All methods are solvers of one compiled core.",
        ),
    ),
    Exhibit(
        paper="scatter",
        name="test rules",
        title="The score of eq. 18 against the test rules of AD-SVM, the paper's reference [8]",
        where=PLACE + "text before table 2: reference [8] did not perform satisfactorily, no figures are printed",
        printed={
            (row, rule, "accuracy [%]"): (None, None) for row in ("Iris", "Wine", "Glass") for rule in scatter.RULES
        },
        compute=scatter.rules,
        fast_rows=("Iris", "Wine"),
        own=scatter.RULES[:2],
        decided=(
            "Best ten-fold accuracy over kappa and six values of nu up to the largest that the smallest class allows.",
            "Reference [8] was not available; its abstract names hyperplanes half-way between the nearest points of "
            "the (reduced) convex hulls, which is the nearest-point rule. The direction rule divides by the norm.",
        ),
    ),
)
