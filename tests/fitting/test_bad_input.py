"""Wrong parameters and wrong data: one sentence that says what was expected, what was found and what to do."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from data_sets import iris

from polymargin import (
    AutoSVC,
    CoreVectorSVC,
    EnclosingBall,
    GRNNRegressor,
    JointSVC,
    KernelDensityNB,
    KernelSearchCV,
    OutputCodeSVC,
    PairwiseSVC,
    RadiusMarginSearch,
    StructuredSVC,
    SupervisedIsomap,
)

X, y = iris()


def assert_refused(message, X=X, y=y, sample_weight=None, **parameters):
    with pytest.raises(ValueError, match=message) as caught:
        JointSVC(**({"machine": "scatter"} | parameters)).fit(X, y, sample_weight=sample_weight)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (dict(machine="scater"), "expected machine to be .*got 'scater'; did you mean \"scatter\""),
        (dict(kernel="rbff"), "expected kernel to be one of .*got 'rbff'; did you mean \"rbf\""),
        (dict(kernel="Gaussian"), 'did you mean "rbf"'),
        (dict(kernel="Linear"), 'did you mean "linear"'),
        (dict(kernel=None), "expected kernel to be .*got None"),
        (dict(loss="hinge2"), 'did you mean "hinge"'),
        (dict(loss="squared-hinge"), 'did you mean "squared_hinge"'),
        (dict(intercept="regularised"), 'did you mean "regularized"'),
        (dict(intercept=True), "expected intercept to be .*got True"),
        (dict(solver="sm"), 'did you mean "smo"'),
        (dict(solver="ksk"), 'expected solver to be .* with machine="scatter", got "ksk"'),
        (dict(C=0), "expected C to be a positive number, or infinity for a hard margin, got 0"),
        (dict(C=-1.0), "expected C to be a positive number, or infinity for a hard margin, got -1.0"),
        (dict(C=-np.inf), "expected C to be a positive number, or infinity for a hard margin, got -inf"),
        (dict(C="1"), "expected C to be a positive number, or infinity for a hard margin, got '1'"),
        (dict(nu=0.0), r"expected nu to be None, or a number in \(0, 1\], got 0.0"),
        (dict(nu=1.5), "got 1.5"),
        (dict(gamma=0.0), "expected gamma to be .*a positive number.*got 0.0"),
        (dict(gamma=-1), "expected gamma to be .*got -1"),
        (dict(gamma="scaled"), 'did you mean "scale"'),
        (dict(gamma=[1.0, 2.0]), r"expected gamma to hold one number per feature, shape \(4,\), got shape \(2,\)"),
        (dict(gamma=[1.0, 2.0, -1.0, 0.0]), "expected gamma to hold numbers >= 0.*got -1 to 2"),
        (dict(gamma=np.zeros(4)), "not all of them 0"),
        (dict(gamma=np.ones(4), kernel="poly"), 'expected kernel="rbf" with an array of gammas.*, got kernel="poly"'),
        (dict(degree=0), "expected degree to be a positive integer, got 0"),
        (dict(degree=2.5), "expected degree to be a positive integer, got 2.5"),
        (dict(coef0=np.nan), "expected coef0 to be a finite number, got nan"),
        (dict(tol=0.0), "expected tol to be a positive number, got 0.0"),
        (dict(max_iter=-1), "expected max_iter to be a positive integer, got -1"),
        (dict(time_limit=0), "expected time_limit to be None, or a positive number of seconds, got 0"),
        (dict(memory="lots"), "expected memory to be .*got 'lots'"),
        (dict(memory="10kB"), "expected memory to be at least \"1MB\", got '10kB', which is 10000 bytes"),
        (dict(memory=1000), "expected memory to be a number of bytes >= 1000000.*got 1000"),
        (dict(n_jobs=0), "expected n_jobs to be None, or an integer other than 0, got 0"),
        (dict(class_weight="balance"), 'did you mean "balanced"'),
        (dict(class_weight={0: -1.0}), "expected class_weight to hold positive numbers, got -1 for class 0"),
        (dict(class_weight={"0": 2.0}), r"expected class_weight to have the classes \[0, 1, 2\] as keys, got '0'"),
        (dict(warm_start="yes"), "expected warm_start to be True or False, got 'yes'"),
        (dict(verbose=-1), "expected verbose to be .*got -1"),
        (
            dict(priors=[0.5, 0.5], intercept="exact"),
            r"expected priors to hold one number per class, shape \(3,\), got shape \(2,\)",
        ),
        (dict(priors=[0.5, 0.5, 0.0], intercept="exact"), "expected priors to be positive, got 0"),
        (dict(priors=[0.5, 0.5, 0.5], intercept="exact"), "expected priors to sum to 1, got a sum of 1.5"),
        (dict(priors=[0.2, 0.3, 0.5]), 'expected intercept="exact" with priors.*got intercept="none"'),
        (
            dict(nu=0.5, intercept="exact", priors=[0.8, 0.1, 0.1]),
            "expected nu to be positive and at most 0.41.*, got 0.5, which is infeasible",
        ),
    ],
)
def test_parameters(parameters, message):
    assert_refused(message, **parameters)


def test_infeasible_nu_names_the_feasible_range():
    keep = np.r_[0:10, 50:150]  # ten rows of the first class
    assert_refused(
        "expected nu to be positive and at most 0.27.*, got 0.5, which is infeasible",
        X[keep],
        y[keep],
        nu=0.5,
        intercept="exact",
    )
    JointSVC("scatter", nu=0.27, intercept="exact").fit(X[keep], y[keep])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_values_that_are_not_finite(bad, form):
    spoiled = X.copy()
    spoiled[3, 1] = bad
    message = "expected X to be finite, got (NaN|infinity).*; drop such rows"
    assert_refused(message, form(spoiled))
    model = JointSVC("scatter").fit(X, y)
    with pytest.raises(ValueError, match=message):
        model.predict(form(spoiled))


def test_one_class():
    assert_refused("expected y to hold at least 2 classes, got 1 class", y=np.zeros(len(X)))
    assert_refused("got 1 class .*after rows of weight zero were removed", sample_weight=(y == 1).astype(float))


def test_one_row():
    assert_refused("1 class.*n_samples=1", X[:1], y[:1])


def test_rows_and_labels_that_do_not_match():
    assert_refused("inconsistent numbers of samples", y=y[:-1])
    assert_refused("inconsistent numbers of samples", X[:2], ["a", "b", "c"])  # fewer rows than classes


def test_labels_that_are_no_classes():
    assert_refused("continuous", y=X[:, 0])
    assert_refused("y", y=None)
    assert_refused("a label in every row, got NaN in row 0; drop such rows", y=np.where(y == 0, np.nan, y))


@pytest.mark.parametrize(
    ("sample_weight", "message"),
    [
        (np.r_[-1.0, np.ones(149)], "expected sample_weight to be at least 0 everywhere, got -1 in row 0"),
        (np.ones(10), r"expected sample_weight to hold one number per row, shape \(150,\), got shape \(10,\)"),
        (np.ones((150, 2)), "sample_weight"),
        (np.zeros(150), "got only zeros"),
        (np.r_[np.nan, np.ones(149)], "sample_weight.*NaN"),
        (-1.0, "expected sample_weight to be at least 0 everywhere"),
    ],
)
def test_sample_weights(sample_weight, message):
    with pytest.raises(ValueError, match=message):
        JointSVC("scatter").fit(X, y, sample_weight=sample_weight)


def test_number_of_features_in_predict():
    model = JointSVC("scatter").fit(X, y)
    for method in (model.predict, model.decision_function):
        with pytest.raises(ValueError, match="X has 3 features, but JointSVC is expecting 4 features"):
            method(X[:, :3])


def test_precomputed_kernels_that_do_not_fit():
    assert_refused(
        r"expected a square X of shape \(n_samples, n_samples\) in fit .*, got \(150, 4\)", kernel="precomputed"
    )
    K = X @ X.T
    model = JointSVC("scatter", kernel="precomputed").fit(K, y)
    with pytest.raises(ValueError, match="X has 4 features, but JointSVC is expecting 150 features"):
        model.predict(K[:, :4])
    with pytest.raises(TypeError, match="[Ss]parse"):
        JointSVC("scatter", kernel="precomputed").fit(sp.csr_array(K), y)


def test_callable_kernels_that_return_something_else():
    assert_refused(r"expected the callable kernel to return an array of shape", kernel=lambda A, B: A @ A.T[:, :1])

    class Broken(Exception):
        pass

    def broken(A, B):
        raise Broken

    with pytest.raises(Broken):
        JointSVC("scatter", kernel=broken).fit(X, y)


def test_a_failed_fit_leaves_no_half_model():
    model = JointSVC("scatter", nu=0.99, intercept="exact")
    with pytest.raises(ValueError, match="infeasible"):
        model.fit(X[30:], y[30:])
    with pytest.raises(ValueError, match="not fitted"):  # NotFittedError is one
        model.predict(X)
    with pytest.raises(AttributeError, match="expected kernel='linear' for coef_"):
        JointSVC("scatter").fit(X, y).coef_  # noqa: B018


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_numbers_whose_squares_overflow(form):
    huge = form(np.where(np.arange(4) == 2, 1e200, 1.0) * X)
    grid = KernelSearchCV(PairwiseSVC(), C=[1.0], gamma=[1.0])
    for model in (
        JointSVC("scatter"),
        PairwiseSVC(kernel="linear"),
        EnclosingBall(),
        RadiusMarginSearch(JointSVC("scatter")),
        grid,
    ):
        with pytest.raises(ValueError, match=r"squares are finite, got .*e\+200 in .*; scale the data"):
            model.fit(huge, y)
    if form is np.asarray:
        with pytest.raises(ValueError, match="squares are finite"):
            KernelDensityNB().fit(huge, y)


def test_arrays_of_data_frames():
    """Parameters that are arrays may be anything that NumPy makes one of."""
    ones = pd.DataFrame(1.0 - np.eye(3))
    assert StructuredSVC(loss_matrix=ones).fit(X, y).primal_objective_ == StructuredSVC().fit(X, y).primal_objective_
    found = [
        RadiusMarginSearch(JointSVC("scatter"), costs=costs, cv=None).fit(X, y).best_criterion_
        for costs in (ones, None)
    ]
    assert found[0] == found[1]
    assert JointSVC("scatter", gamma=pd.Series([0.1, 0.2, 0.3, 0.4])).fit(X, y).gamma_.tolist() == [0.1, 0.2, 0.3, 0.4]
    code = OutputCodeSVC(code=pd.DataFrame([[1, -1], [-1, 1], [-1, -1]])).fit(X, y).code_
    assert code.tolist() == [[1, -1], [-1, 1], [-1, -1]]
    priors = pd.Series([0.2, 0.3, 0.5])
    assert JointSVC("scatter", intercept="exact", priors=priors).fit(X, y).status_ == "solved"
    with pytest.raises(ValueError, match="expected costs to be None, or an array of shape"):
        RadiusMarginSearch(JointSVC("scatter"), costs="equal").fit(X, y)


def test_weights_that_count_no_rows():
    with pytest.raises(ValueError, match="got a sum of 1e-06 in two of them; multiply the weights"):
        RadiusMarginSearch(JointSVC("scatter")).fit(X, y, sample_weight=np.full(len(y), 1e-8))


def classifiers():
    grid = dict(C=[1.0], gamma=[0.1], cv=2)
    return [
        JointSVC("scatter"), PairwiseSVC(), CoreVectorSVC(), KernelDensityNB(), StructuredSVC(), SupervisedIsomap(),
        AutoSVC(cv=2), KernelSearchCV(PairwiseSVC(), **grid), RadiusMarginSearch(PairwiseSVC(), cv=None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "labels, message",
    [
        (["a", None, "b"], "expected y to hold a label in every row, got None in row 1; drop"),
        ([1, None, 2], "got None in row 1"),
        (["a", float("nan"), "b"], "got nan in row 1"),
        (pd.array(["a", None, "b"], dtype="string"), "got <NA> in row 1"),
        (["a", 1, 2.0], "expected y to hold labels of one type, got float and int and str; convert them"),
        ([True, "x", b"x"], "got bool and bytes and str"),
    ],
    ids=str,
)
def test_labels_without_an_order(labels, message):
    X, _ = iris()
    y = np.array([labels[i % 3] for i in range(60)], dtype=object)
    for model in classifiers():
        with pytest.raises(ValueError, match=message):
            model.fit(X[:60], y)
    with pytest.raises(ValueError, match=message):
        CoreVectorSVC().fit([(X[:60], y)])
    with pytest.raises(ValueError, match=message):
        CoreVectorSVC().partial_fit(X[:60], ["a", "b"] * 30).partial_fit(X[:60], y)


@pytest.mark.parametrize("scale", [1e-160, 1e-200, 1e-320])
def test_numbers_whose_squares_vanish(scale):
    X, y = iris()
    models = [JointSVC("scatter", kernel=k) for k in ("rbf", "poly", "linear")] + [
        CoreVectorSVC(kernel="poly"),
        EnclosingBall(),
    ]
    for model in [*models, *classifiers()[1:4], SupervisedIsomap(), GRNNRegressor(), GRNNRegressor(scale)]:
        with pytest.raises(ValueError, match="squares do not vanish.*scale the data first"):
            model.fit(scale * X, y)
    for model in (
        JointSVC("scatter", kernel="poly"),
        GRNNRegressor(),
    ):  # within the range the scale makes no difference
        same = model.fit(1e-140 * X, y).predict(1e-140 * X)
        np.testing.assert_allclose(same, model.fit(X, y).predict(X), rtol=1e-6, atol=1e-6)
    assert np.isfinite(GRNNRegressor().fit(X, y).predict(scale * X)).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_callable_kernels_with_values_that_are_not_finite(value):
    low, high = X[:, 0].min(), X[:, 0].max()

    def kernel(A, B):
        K = A @ B.T
        K[np.logical_and.outer(A[:, 0] == high, B[:, 0] == low)] = value
        return K

    found = f"expected the callable kernel to return finite numbers, got {value} for"
    for model in (JointSVC("scatter"), JointSVC("kesler"), PairwiseSVC()):
        with pytest.raises(ValueError, match=rf"{found} row \d+ \({high:g},.*\) and row \d+ \({low:g},.*; drop"):
            model.set_params(kernel=kernel).fit(X, y)
    # Core sets are rows from anywhere, so their numbers would mislead.
    for model in (CoreVectorSVC(), CoreVectorSVC(scheme="pairwise"), EnclosingBall()):
        with pytest.raises(ValueError, match=rf"{found} the row \({high:g},.*\) and the row \({low:g},"):
            model.set_params(kernel=kernel).fit(X, y)


def test_plain_arrays_are_checked_like_any_other():
    """Plain arrays do without scikit-learn's checks only where those would change nothing and say nothing."""
    X, y = iris()
    X = np.ascontiguousarray(X, dtype=np.float64)
    y = np.asarray(y)
    model = PairwiseSVC().fit(X, y)
    assert model.n_features_in_ == 4 and not hasattr(model, "feature_names_in_")
    for same in (
        X.tolist(),
        np.asfortranarray(X),
        X.astype(">f8"),
        pd.DataFrame(X).to_numpy(),
        np.repeat(X, 2, 0)[::2],
    ):
        np.testing.assert_array_equal(
            PairwiseSVC().fit(same, list(y)).decision_function(same), model.decision_function(X)
        )
    for value in (np.nan, np.inf, -np.inf):
        bad = X.copy()
        bad[3, 1] = value
        for call in (lambda bad=bad: PairwiseSVC().fit(bad, y), lambda bad=bad: model.predict(bad)):
            with pytest.raises(ValueError, match="expected X to be finite, got"):
                call()
    both = X.copy()
    both[0, 0], both[1, 0] = np.inf, -np.inf
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="expected X to be finite, got"):
        model.predict(both)
    large = np.full((3, 4), 1e308)  # finite, though their sum is not
    assert model.predict(large).shape == (3,)
    with pytest.raises(ValueError, match="5 features"):
        model.predict(np.zeros((2, 5)))
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(np.zeros((0, 4)))
    with pytest.raises(ValueError, match="Reshape"):
        model.predict(X[0])
    with pytest.raises(ValueError, match="inconsistent"):
        PairwiseSVC().fit(X, y[:-1])
    with pytest.raises(ValueError, match="label type"):
        PairwiseSVC().fit(X, y + 0.5)
    with pytest.warns(UserWarning, match="greater than 50%"):
        PairwiseSVC().fit(X[:30], np.arange(30) // 2 + 100 * (np.arange(30) > 20) * np.arange(30))
    named = PairwiseSVC().fit(pd.DataFrame(X, columns=list("abcd")), y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        named.predict(X)
    assert not hasattr(named.fit(X, y), "feature_names_in_")


@pytest.mark.parametrize(("first", "later"), [((0, 1), ("a", "b")), (("a", "b"), (0, 1)), ((0.0, 1.0), ("a", "b"))])
def test_later_labels_of_another_type(first, later, rng):
    X, at = rng.normal(size=(12, 2)), np.arange(12) % 2
    est = CoreVectorSVC().partial_fit(X, np.array(first)[at])
    with pytest.raises(ValueError, match="expected labels among .* in partial_fit, got"):
        est.partial_fit(X, np.array(later, dtype=object)[at])
