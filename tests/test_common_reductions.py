"""scikit-learn's own checks of an estimator, on every reduction to binary machines and without expected failures."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from polymargin import OneVsRestSVC, OutputCodeSVC, PairwiseSVC

CONFIGURATIONS = [
    PairwiseSVC(),
    PairwiseSVC(decision="dag", loss="squared_hinge"),
    PairwiseSVC(kernel="linear"),
    PairwiseSVC(kernel="precomputed"),
    PairwiseSVC(C=2.0, tol=1e-6, memory="1MB", n_jobs=2, warm_start=True, class_weight="balanced"),
    OneVsRestSVC(),
    OneVsRestSVC(kernel="linear", loss="squared_hinge"),
    OutputCodeSVC(),
    OutputCodeSVC(code="sparse", decoding="hamming"),
    OutputCodeSVC(decoding="hinge", kernel="poly", coef0=1.0),
]


# One check fits very noisy data with class weights of 1000 and 0.0001 and at most 1000 steps.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(CONFIGURATIONS)
def test_scikit_learn(estimator, check):
    check(estimator)
