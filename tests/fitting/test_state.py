"""A fit that fails or is interrupted, at any moment, leaves one whole model: the previous one, or a new one."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from data_sets import blobs

import polymargin
from polymargin import (
    AutoSVC,
    CoreVectorSVC,
    EnclosingBall,
    GRNNRegressor,
    JointSVC,
    KernelDensityNB,
    KernelSearchCV,
    OneVsRestSVC,
    OutputCodeSVC,
    PairwiseSVC,
    RadiusMarginSearch,
    StructuredSVC,
    SupervisedIsomap,
)

HERE = str(Path(polymargin.__file__).parent)


class Broken(Exception):
    pass


class Kernel:
    """A Gaussian kernel that raises an error when it is called for the `at`-th time from now on."""

    def __init__(self):
        self.left, self.error = -1, None

    def arm(self, at, error):
        self.left, self.error = at, error

    def __call__(self, A, B):
        self.left -= 1
        if self.left == 0:
            raise self.error
        return np.exp(-0.3 * ((A[:, None, :] - B[None]) ** 2).sum(axis=2))


CALLABLE = {
    "scatter": lambda k: JointSVC("scatter", kernel=k),
    "crammer-singer": lambda k: JointSVC("crammer-singer", kernel=k),
    "kesler, smo": lambda k: JointSVC("kesler", kernel=k, solver="smo"),
    "pairs": lambda k: PairwiseSVC(kernel=k),
    "rest": lambda k: OneVsRestSVC(kernel=k),
    "codes": lambda k: OutputCodeSVC(kernel=k, random_state=0),
    "core": lambda k: CoreVectorSVC(kernel=k),
    "core, growing": lambda k: CoreVectorSVC(kernel=k, epsilon=1e-3),
    "core, pairs": lambda k: CoreVectorSVC(kernel=k, scheme="pairwise"),
    "ball": lambda k: EnclosingBall(kernel=k),
}
ESTIMATORS = {
    **{name: (lambda make=make: make("rbf")) for name, make in CALLABLE.items()},
    "linear": lambda: JointSVC("kesler", kernel="linear"),
    "structured": StructuredSVC,
    "cuts": lambda: StructuredSVC(algorithm="one-slack"),
    "density": KernelDensityNB,
    "grnn": GRNNRegressor,
    "isomap": SupervisedIsomap,
    "auto": lambda: AutoSVC(cv=2, C=1.0, gamma=0.1),
    "auto, core": lambda: AutoSVC("core-vector", C=1.0, gamma=0.1),
    "grid": lambda: KernelSearchCV(PairwiseSVC(), C=[0.1, 1.0], gamma=[0.1, 1.0], cv=2),
    "criterion": lambda: RadiusMarginSearch(JointSVC("scatter"), cv=2, max_iter=4),
}


def two_sets(name, seed):
    """Rows to fit first and then: others in number, features and classes."""
    X, y = blobs([20, 20, 20], 4, seed=seed)
    Z, z = blobs([18, 20, 16, 21], 5, seed=seed + 1)
    if name == "grnn":
        return X, X[:, :1] ** 2, Z, Z[:, :2]
    return X, np.array(["a", "b", "c"])[y], Z, np.array(["u", "v", "w", "z"])[z]


def answer(model, X):
    return model.transform(X) if hasattr(model, "transform") else model.predict(X)


def fit(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def check_whole(model, before, expected, X, Z):
    """Whether it is the previous model, unchanged; if not, it must be a complete one of the rows Z."""
    assert "_former" not in vars(model)
    if model.n_features_in_ == X.shape[1]:
        assert vars(model).keys() - {"_kept"} == before.keys() - {"_kept"}  # of a search: a table to go on with
        assert all(vars(model)[name] is before[name] for name in before if name != "_kept")
        np.testing.assert_array_equal(answer(model, X), expected)
        return True
    assert vars(model).keys() >= {name for name in before if name.endswith("_") and name not in ("pairs_", "coef_")}
    assert np.isin(answer(model, Z), ["u", "v", "w", "z"]).all() or isinstance(
        model, EnclosingBall | GRNNRegressor | SupervisedIsomap
    )
    return False


@pytest.mark.parametrize("name", CALLABLE)
@pytest.mark.parametrize("error", [Broken, MemoryError, KeyboardInterrupt])
def test_a_kernel_that_fails(name, error, seed):
    X, y, Z, z = two_sets(name, seed)
    kernel, ended = Kernel(), 0
    model = CALLABLE[name](kernel)
    for at in (*range(1, 13), 16, 24, 48):
        expected, before = answer(fit(model, X, y), X), dict(vars(model))
        kernel.arm(at, error("stop"))
        try:
            fit(model, Z, z)
        except error:
            ended += 1
            former = check_whole(model, before, expected, X, Z)
            assert former or (error is KeyboardInterrupt and model.status_ == "interrupted")
        kernel.arm(0, None)
    assert ended >= 1
    unfitted = CALLABLE[name](kernel)
    before = dict(vars(unfitted))
    kernel.arm(1, Broken())
    with pytest.raises(Broken):
        fit(unfitted, X, y)
    assert vars(unfitted) == before


class Moments:
    """Counts the lines of the package that run, except for the ones that put things back; raises an error in one."""

    def __init__(self, at=None, error=None):
        self.at, self.error, self.seen = at, error, 0

    def __enter__(self):
        self.former = sys.gettrace()
        sys.settrace(self.call)
        return self

    def __exit__(self, *_):
        sys.settrace(self.former)

    def call(self, frame, event, argument):
        file = frame.f_code.co_filename
        return self.line if file.startswith(HERE) and not file.endswith("state.py") else None

    def line(self, frame, event, argument):
        if event == "line":
            self.seen += 1
            if self.seen == self.at:
                raise self.error
        return self.line


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_end_at_any_moment(name, seed):
    X, y, Z, z = two_sets(name, seed)
    with Moments() as all_of_them:
        fit(ESTIMATORS[name](), Z, z)
    n = all_of_them.seen
    some = np.unique(np.r_[np.linspace(1, n, 6).astype(int), n - np.arange(0, 36, 7)])
    model, kept = ESTIMATORS[name](), 0
    expected = answer(fit(model, X, y), X)
    for k, at in enumerate(some[some > 0]):
        before = dict(vars(model))
        try:
            with Moments(at, [KeyboardInterrupt(), Broken()][k % 2]):
                fit(model, Z, z)
        except (KeyboardInterrupt, Broken):
            pass
        if check_whole(model, before, expected, X, Z):
            kept += 1
        else:
            fit(model, X, y)
    assert kept > 0
    unfitted = ESTIMATORS[name]()
    before = dict(vars(unfitted))
    with Moments(n // 3, Broken()), pytest.raises(Broken):
        fit(unfitted, Z, z)
    assert vars(unfitted) == before


def test_partial_fit_is_whole(seed):
    X, y, Z, z = two_sets("core", seed)
    kernel = Kernel()
    for start in (False, True):
        for at in range(1, 6):
            model = CoreVectorSVC(kernel=kernel)
            if start:
                expected = model.partial_fit(X[::2], y[::2], classes=["a", "b", "c"]).predict(X)
            before = dict(vars(model))
            kernel.arm(at, Broken())
            with pytest.raises(Broken):
                model.partial_fit(X[1::2], y[1::2], classes=["a", "b", "c"])
            assert vars(model) == before
            if start:
                np.testing.assert_array_equal(model.predict(X), expected)
                assert model.partial_fit(X[1::2], y[1::2]).n_seen_ == len(X)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(Z, z)
    with pytest.raises(ValueError, match="labels among"):
        model.partial_fit(X, z[: len(X)])
    assert model.n_seen_ == len(X) and model.predict(X).shape == y.shape


@pytest.mark.parametrize("error", [Broken, KeyboardInterrupt])
def test_an_iterator_that_fails(error, seed):
    X, y, Z, z = two_sets("core", seed)
    model = CoreVectorSVC().fit(X, y)
    expected, before = model.predict(X), dict(vars(model))

    def chunks():
        for at in range(0, len(z), 30):
            if at == 60:
                raise error
            # Every class is in the first chunk.
            order = np.arange(len(z)).reshape(-1)[np.argsort(np.arange(len(z)) % 3, kind="stable")]
            yield Z[order[at : at + 30]], z[order[at : at + 30]]

    with pytest.raises(error):
        model.fit(chunks())
    if error is Broken:
        assert check_whole(model, before, expected, X, Z)
    else:
        assert model.status_ == "interrupted" and model.n_seen_ == 60 and model.score(Z, z) > 0.3


def test_a_fit_begins_anew(seed):
    """What another form of the machine had set does not stay."""
    X, y, Z, z = two_sets("core", seed)
    model = CoreVectorSVC().fit(X, y).set_params(scheme="pairwise").fit(X, y)
    assert not hasattr(model.set_params(scheme="joint").fit(X, y), "pairs_")
    assert model.set_params(scheme="pairwise").fit(Z, z).set_params(scheme="joint").partial_fit(X, y).n_seen_ == len(X)
    search = KernelSearchCV(PairwiseSVC(), C=[1.0], gamma=[0.1], cv=2).fit(X, y)
    assert not hasattr(search.set_params(refit=False).fit(Z, z), "best_estimator_")


def test_ctrl_c_while_the_best_estimator_is_fitted(seed):
    """Without a former model the results stay; with one, that one does, and the table to go on with."""
    X, y, Z, z = two_sets("grid", seed)
    kernel = Kernel()
    settings = dict(C=[0.1, 1.0], gamma=[0.1], cv=2, warm_start=True)
    fits = []

    class Stopped(PairwiseSVC):
        def fit(self, X, y, sample_weight=None):
            fits.append(1)
            if self.kernel == "rbf" and kernel.left > 0:
                raise KeyboardInterrupt
            return super().fit(X, y, sample_weight)

    search = KernelSearchCV(Stopped(), **settings)
    kernel.arm(1, None)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert search.status_ == "interrupted" and search.best_score_ > 0.3 and not hasattr(search, "best_estimator_")
    kernel.arm(0, None)
    expected = search.fit(X, y).predict(X)
    kernel.arm(1, None)
    with pytest.raises(KeyboardInterrupt):
        search.fit(Z, z)
    np.testing.assert_array_equal(search.predict(X), expected)
    np.testing.assert_array_equal(search.classes_, ["a", "b", "c"])
    assert search.status_ == "solved"
