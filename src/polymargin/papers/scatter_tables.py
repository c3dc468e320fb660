"""The printed tables of Jenssen et al. (2012); the computations are in scatter.py."""

from __future__ import annotations

from . import scatter
from .exhibit import rows_of, table, unprinted
from .scatter import exhibit

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
    "MNIST (0-4) is 2,000 of the 5,139 test rows, in table 5 those of seed 0: the paper does not say which part it "
    "uses. One-vs-one, for which it prints 99.20%, suggests the test rows: on a part of the grid it reaches 98.15 "
    "and 98.35% on two draws from the training rows, 98.45% on one from all rows, and 98.60, 98.60 and 98.95% on "
    "three from the test rows (`python -m benchmarks.paper_checks mnist`). Figure 21 also uses a test part, that of "
    "USPS."
)
TIES = "Among parameters with equal accuracy, we take the widest kernel and the smallest C."
GRID = (
    "There are ten folds of round(n/10) rows, drawn with seed 0 and not stratified. The paper seems to do the same: "
    "its means are multiples of 1/210 for the 214 rows of Glass, of 1/330 for the 334 rows of table 6, and of 1/180 "
    "for the 178 rows of Wine.",
    TIES,
    "The grid is searched from coarse to fine (kappa in steps of 2, then 1, then 0.2 around the best; Segment, "
    "Satimage, Dna and USPS with the five C from 0.25 to 63). All points belong to the paper's grid, so the search "
    "can only make our figures worse.",
    MNIST,
    "OVR is OneVsRestSVC and OVO is PairwiseSVC (both train LIBSVM's models), CS is JointSVC's crammer-singer, and "
    "NB is KernelDensityNB with h^2 = 1 / (2 gamma).",
)
DNA = (
    "The paper very likely used other data. All five methods are 2.4 to 4.5 points below their printed figures, while "
    "on USPS (table 6) the same code reproduces the printed figures of three methods to the row. "
    "Wang, Xue and Chan print 94.4 to 95.8% for six methods on this split, and Statlog's best is 95.9%. With one "
    'class (EI) against the rest (see "Dna as two classes" below), Scatter SVM and the three other machines are '
    "within half a point of the printed figures, but naive Bayes is not."
)
SAMPLE = (
    "We do not know which 2,000 rows the paper used. On a part of the grid, three draws from the test rows give "
    "98.60, 98.60 and 98.95% for one-vs-one and 98.45, 98.35 and 98.90% for Scatter SVM (`python -m "
    "benchmarks.paper_checks mnist`)."
)
SIXTH = (
    "The result depends on the draw. On the six sixths of the 2,000 rows, Scatter SVM reaches 96.1 to 98.5%, "
    "one-vs-one 96.1 to 97.6% and one-vs-rest 96.4 to 98.2% on a part of the grid (`python -m "
    "benchmarks.paper_checks sixths`). The first sixth, chosen as for USPS, is one of the hardest. We do not know "
    "which 334 rows the paper used."
)
SPARSITY = (
    "Counts and accuracies are means over five draws of the rows (seeds 0 to 4). The model is the one with the best "
    "validation accuracy (among ties, the one with the widest kernel, then the smallest C). This choice decides how "
    "many support vectors there are, because several parameters share the best accuracy, so counts vary with the draw.",
    "For OVR, the paper's numbers in parentheses are added, so that every pattern is counted once.",
)

EXHIBITS = (
    exhibit(
        "table 1",
        "Many classes: errors and times of Scatter SVM and one-vs-rest",
        printed=TABLE_1,
        compute=scatter.many_classes,
        clock=scatter.many_classes_clock,
        own=("Scatter",),
        reference="OVR",
        fast_rows=("checker, 10 classes", "circle, 10 classes"),
        safe=dict.fromkeys(rows_of(TABLE_1), "the generator is tuned to the printed errors"),
        decided=(
            "The paper does not print the standard deviation of the Gaussians (here 0.33 of the distance between "
            "neighbors) or the overlap of the fields (here 0.125). We chose them so that the errors of Scatter SVM "
            "are close to the printed ones. So the level of the errors means nothing; only the difference between "
            "the methods does.",
            "Errors are means over 20 draws with 10 classes and over 5 draws with 100 or more, because the 50 "
            "validation rows of a single draw say little.",
            "With 1,000 or more classes, both methods use the parameters that were best for 100. One-vs-rest with "
            "10,000 classes is one draw, timed while its error is computed: nine minutes, while the paper prints 55 "
            "hours. Each of its machines, on 50,000 rows, takes less than 0.1 s (`python -m benchmarks.paper_checks "
            "machines`).",
            "Times are processor seconds of one thread, the least of several runs where these are short. With 10 and "
            "100 classes all of them are below 0.02 s. With 1,000 classes of the circle, the ratio is above the "
            "printed one because one-vs-rest gained more since the paper: it takes 0.9 s (printed 1,229) and Scatter "
            "SVM 0.04 s (printed 46; `python -m benchmarks.paper_checks machines`, AVX-512).",
            "The grids are nu = T/n, 0.5 and 0.999 for Scatter SVM, C = 0.01 .. 100 for one-vs-rest, and sigma^2 = "
            "0.1, 1, 5 for both.",
        ),
    ),
    exhibit(
        "table 2",
        "Support vectors on USPS digits 0, 6 and 9",
        "table 2, and accuracies in the text before it",
        printed=TABLE_2,
        compute=scatter.sparsity_cell("USPS"),
        own=("Scatter",),
        decided=(*SPARSITY, "The printed accuracies are not multiples of 1/630; the nearest are 99.84 and 99.37."),
    ),
    exhibit(
        "table 3",
        "Support vectors on MNIST digits 0 to 4",
        "table 3, and accuracies in the text",
        printed=TABLE_3 | unprinted(("all",), (scatter.FIXED,), "support vectors", "accuracy [%]"),
        compute=scatter.sparsity_cell("MNIST"),
        own=("Scatter",),
        decided=(
            *SPARSITY,
            MNIST,
            "The printed 339 support vectors are 33.5% of the training rows, which gives 1,012 training rows and "
            "988 validation rows.",
            "We disagree with the paper here: Scatter SVM has more support vectors than one-vs-rest, while in the "
            "paper it has about half as many. The parameters decide the count. At kappa = 1 and C = 1000 (last "
            "column) it has about as few as printed, at a somewhat lower accuracy, so validation does not choose "
            "that point here.",
        ),
    ),
    exhibit(
        "table 5",
        "Accuracy on nine benchmark sets",
        "table 5 (sets: table 4)",
        printed=TABLE_5,
        compute=scatter.benchmark,
        own=("Scatter",),
        reasons={
            (row, column): reason
            for row, reason in (("Dna", DNA), ("MNIST (0-4)", SAMPLE))
            for column in ("Scatter", "OVR", "OVO", "CS", "NB")
        },
        fast_rows=("Iris", "Wine", "Glass", "Dna"),
        decided=(
            "As in the paper, parameters are chosen by the accuracies that are shown, including test rows.",
            *GRID,
        ),
    ),
    exhibit(
        "table 6",
        "High dimension, low sample size",
        printed=TABLE_6,
        compute=scatter.small_sample,
        own=("Scatter",),
        reasons={("MNIST (0-4)", column): SIXTH for column in ("Scatter", "OVR", "OVO", "CS")},
        fast_rows=("MNIST (0-4)",),
        decided=(
            "USPS is every 20th training row, starting with the first. Its smallest class has 19 rows and its "
            "largest 64, as the paper says (it counts 364 rows, but a twentieth of 7,291 is 365). With these rows, "
            "Scatter SVM, one-vs-rest and one-vs-one have the printed accuracy to the row.",
            "MNIST (0-4) is every sixth of the 2,000 rows of table 5, which gives the paper's 334 rows.",
            "The grid is the paper's whole grid.",
            TIES,
            GRID[0],
            GRID[-1],
        ),
    ),
    exhibit(
        "table 7",
        "Training and test times at C = 1000",
        printed=TABLE_7,
        compute=scatter.no_accuracy,
        clock=scatter.times,
        own=("Scatter",),
        reference="OVO",
        fast_rows=("Segment", "Dna"),
        decided=(
            "Times are means over four kernel widths, kappa = -8, -4, 0, 4 (USPS: -6), and one fold; the paper "
            "averages over all 76 widths and ten folds. All methods are solvers of the same compiled core.",
        ),
    ),
    exhibit(
        "test rules",
        "The score of eq. 18 against the test rules of AD-SVM, the paper's reference [8]",
        "text before table 2: reference [8] did not perform satisfactorily, without figures",
        printed=unprinted(("Iris", "Wine", "Glass"), scatter.RULES, "accuracy [%]"),
        compute=scatter.rules,
        fast_rows=("Iris", "Wine"),
        own=scatter.RULES[:2],
        decided=(
            "The figures are the best ten-fold accuracy over kappa and six values of nu, up to the largest that the "
            "smallest class allows.",
            "We did not have access to reference [8]. Its abstract describes hyperplanes halfway between the nearest "
            "points of the (reduced) convex hulls, which is the nearest-point rule. The direction rule divides by "
            "the norm.",
            "Without bias, the score of eq. 18 is more accurate than both rules of AD-SVM on Iris and Glass, as the "
            "paper says; on Wine AD-SVM is better by about one row of the 178. All differences are smaller than the "
            "deviations.",
        ),
    ),
)
