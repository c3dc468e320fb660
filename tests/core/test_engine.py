"""One engine for all duals: large problems begin with thinned ones; every name of a problem has one solution."""

import numpy as np
import pytest
from data_sets import blobs
from sklearn.svm import SVC

from polymargin import JointSVC, OneVsRestSVC, PairwiseSVC

EVER = 1e6  # seconds: with any limit the engine begins with few rows, without one only above 8,192
MACHINES = {
    "crammer-singer": JointSVC("crammer-singer", C=2.0),
    "kesler": JointSVC("kesler", C=2.0),
    "kesler, squared": JointSVC("kesler", C=2.0, loss="squared_hinge"),
    "llw": JointSVC("llw", C=0.5),
    "reinforced": JointSVC("reinforced", C=0.2),
    "scatter": JointSVC("scatter", C=5.0),
    "scatter, squared": JointSVC("scatter", C=5.0, loss="squared_hinge"),
    "scatter, nu": JointSVC("scatter", nu=0.3, intercept="exact"),
    "scatter, logistic": JointSVC("scatter", C=5.0, loss="logistic"),
    "ovr": JointSVC("ovr", C=2.0),
    "rest": OneVsRestSVC(2.0, memory="3MB"),
    "rest, squared": OneVsRestSVC(2.0, loss="squared_hinge", memory="3MB"),
    "pairs": PairwiseSVC(2.0, memory="3MB"),
}


def fitted(model, X, y, **parameters):
    model = type(model)(**model.get_params()).set_params(gamma=0.3, **parameters).fit(X, y)
    assert model.status_ == "solved" and model.kkt_violation_ <= model.tol
    return model


@pytest.mark.parametrize("spread", [0.4, 1.2], ids=["apart", "overlapping"])
@pytest.mark.parametrize("name", MACHINES)
def test_a_thinned_start_ends_where_others_do(name, spread):
    X, y = blobs([700, 500, 301], 3, seed=3, spread=spread)
    direct, thinned = (fitted(MACHINES[name], X, y, tol=1e-5, time_limit=limit) for limit in (None, EVER))
    assert thinned.dual_objective_ == pytest.approx(direct.dual_objective_, rel=1e-5)
    assert thinned.primal_objective_ == pytest.approx(direct.primal_objective_, rel=1e-4)
    scores = [m.decision_function(X) for m in (direct, thinned)]
    np.testing.assert_allclose(scores[1], scores[0], atol=3e-3 * np.abs(scores[0]).max())


def test_weights_and_small_classes_in_thinned_problems():
    """A class of one row stays in every thinned problem; rows of weight zero take no part."""
    X, y = blobs([900, 600, 1], 3, seed=4, spread=1.0)
    weight = np.where(np.arange(len(y)) % 4 == 0, 0.0, 1.5)
    weight[y == 2] = 1.0
    for model in (JointSVC("crammer-singer"), PairwiseSVC(memory="3MB")):
        run = dict(gamma=0.3, tol=1e-5, random_state=0)
        whole, some = (type(model)(**model.get_params()).set_params(time_limit=limit, **run) for limit in (None, EVER))
        whole.fit(X[weight > 0], y[weight > 0], weight[weight > 0]), some.fit(X, y, weight)
        assert some.status_ == "solved"
        np.testing.assert_allclose(some.decision_function(X), whole.decision_function(X), atol=5e-3)


@pytest.mark.parametrize("spread", [0.25, 1.0], ids=["apart", "overlapping"])
def test_two_classes_have_one_machine_by_many_names(spread):
    """Above 8,192 rows, beside LIBSVM."""
    X, y = blobs([5200, 4300], 3, seed=6, spread=spread)
    X = X.astype(np.float32)
    C = 4.0
    f = SVC(C=C, gamma=0.3, tol=1e-4).fit(X, y).decision_function(X[::20])
    with_bias = [PairwiseSVC(C), OneVsRestSVC(C), JointSVC("scatter", C=2 * C, intercept="exact")]
    without = [JointSVC("crammer-singer", C=C / 2), JointSVC("kesler", C=C / 2), JointSVC("scatter", C=2 * C)]
    for model in with_bias:
        ours = fitted(model, X, y).decision_function(X[::20])
        ours = ours if ours.ndim == 1 else ours[:, 1] - ours[:, 0]
        np.testing.assert_allclose(ours / np.abs(ours).max(), f / np.abs(f).max(), atol=5e-3)
    values = [fitted(m.set_params(intercept="none"), X, y).decision_function(X[::20]) for m in without]
    for other in values[1:]:
        np.testing.assert_allclose(other / np.abs(other).max(), values[0] / np.abs(values[0]).max(), atol=5e-3)


def test_a_stop_falls_back_on_a_machine_of_use():
    """Time for some of the levels only: what they have found is returned, with finite objectives for reductions."""
    X, y = blobs([9000, 8000], 3, seed=7, spread=0.7)
    for model in (PairwiseSVC(1e4, memory="200MB"), OneVsRestSVC(1e4, memory="200MB")):
        with pytest.warns(Warning, match="time_limit"):
            model.set_params(gamma=0.3, tol=1e-6, time_limit=1.0).fit(X, y)
        assert 0 <= model.dual_objective_ <= model.primal_objective_ < np.inf
        assert model.score(X[::7], y[::7]) > 0.65
