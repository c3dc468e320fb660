"""scikit-learn's own checks of an estimator, on every machine with a margin per class and without expected failures."""

import pytest
from margin_oracles import TABLE
from sklearn.utils.estimator_checks import parametrize_with_checks

from polymargin import JointSVC
from polymargin.machines import KESLER_SOLVERS

CONFIGURATIONS = [JointSVC(machine) for machine in TABLE] + [
    JointSVC("kesler", loss="squared_hinge"),
    *(JointSVC("kesler", loss=loss, solver=solver) for solver, loss in KESLER_SOLVERS.items()),
    JointSVC("kesler", kernel="linear"),
    JointSVC("kesler", kernel="precomputed"),
    JointSVC("crammer-singer", kernel="linear", intercept="regularised"),
    JointSVC("crammer-singer", class_weight="balanced", memory="1MB", n_jobs=2, warm_start=True),
    JointSVC("atm", intercept="regularised"),
    JointSVC("ovr", loss="squared_hinge", intercept="regularised"),
]


# One check fits very noisy data with class weights of 1000 and 0.0001 and at most 1000 steps.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(CONFIGURATIONS)
def test_scikit_learn(estimator, check):
    check(estimator)
