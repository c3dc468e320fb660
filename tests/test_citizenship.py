"""Among scikit-learn's friends: with the real packages, where they are installed."""

import re
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import joblib
import numpy as np
import pytest
from data_sets import iris
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

import polymargin
from polymargin import (
    AutoSVC,
    CoreVectorSVC,
    JointSVC,
    KernelSearchCV,
    LandmarkSVC,
    OneVsRestSVC,
    PairwiseSVC,
    RadiusMarginSearch,
    sensitivity_map,
)

DOCS = Path(__file__).parents[1] / "docs"
ESTIMATORS = [
    getattr(polymargin, name) for name in polymargin.__all__ if hasattr(getattr(polymargin, name), "get_params")
]


# --- callbacks --------------------------------------------------------------------------------------------------------


class Watch:
    """Notes the parts of a fit, and asks to stop after some of them."""

    def __init__(self, most=None):
        self.most, self.parts, self.model = most, [], None

    def setup(self, estimator, context):
        self.parts.append("setup")

    def teardown(self, estimator, context):
        self.parts.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if context.task_name == "fit":
            self.model = fitted_estimator
        self.parts.append(context.task_name)
        return self.most is not None and len(self.parts) > self.most


SEARCHES = [
    (KernelSearchCV(PairwiseSVC(), C=[1, 10], gamma=[0.01, 0.1, 1], cv=2), ["gamma"] * 3 + ["refit"]),
    (KernelSearchCV(JointSVC(), C=[1, 10], gamma=[0.01, 0.1, 1], cv=2), ["gamma"] * 3 + ["refit"]),
    (RadiusMarginSearch(PairwiseSVC(), cv=None), ["evaluation", "refit"]),
    (AutoSVC(), ["tuning", "training", "calibration"]),
]


@pytest.mark.parametrize("model, expected", SEARCHES, ids=lambda value: type(value).__name__)
def test_searches_tell_callbacks_of_their_parts(model, expected):
    pytest.importorskip("sklearn.callback")
    X, y = iris()
    watch = Watch()
    model.set_callbacks(watch).fit(X, y)
    model.set_callbacks()
    parts = watch.parts
    if isinstance(model, RadiusMarginSearch):
        assert parts.count("evaluation") == model.n_evaluations_
        parts = [name for k, name in enumerate(parts) if name != parts[k - 1]]
    assert parts == ["setup", *expected, "fit", "teardown"]
    assert_array_equal(watch.model.predict(X), model.predict(X))


@pytest.mark.parametrize("model", [model for model, _ in SEARCHES[:3]], ids=lambda model: type(model).__name__)
def test_a_callback_can_end_a_search(model):
    """With the best so far, and without an interrupt that nobody sent."""
    pytest.importorskip("sklearn.callback")
    X, y = iris()
    watch = Watch(most=2)
    with pytest.warns(ConvergenceWarning, match="ended"):
        model.set_callbacks(watch).fit(X, y)
    model.set_callbacks()
    assert watch.parts[:4] == ["setup", *[watch.parts[1]] * 2, "refit"]
    assert model.status_ == "interrupted" and model.score(X, y) > 0.5


def test_a_callback_can_end_autosvc():
    pytest.importorskip("sklearn.callback")
    X, y = iris()
    watch = Watch(most=1)
    model = AutoSVC().set_callbacks(watch).fit(X, y)
    assert watch.parts == ["setup", "tuning", "training", "fit", "teardown"]
    assert any(line.startswith("A callback asked to stop") for line in model.explain_choices_)
    assert model.score(X, y) > 0.9


def test_scikit_learns_progress_bar_follows_into_the_machine(capfd):
    callback = pytest.importorskip("sklearn.callback")
    pytest.importorskip("rich")
    X, y = iris()
    for model in (KernelSearchCV(JointSVC(), C=[1], gamma=[0.1]), AutoSVC()):
        model.set_callbacks(callback.ProgressBar(max_propagation_depth=None)).fit(X, y)
        shown = "".join(capfd.readouterr())
        assert type(model).__name__ in shown and "100%" in shown


# --- pictures and rankings --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_pictures_of_estimators_link_to_their_page(kind):
    model = kind(PairwiseSVC()) if "estimator" in kind._get_param_names() else kind()
    link = re.search(r"https://polymargin[^\"#]*/(api/[\w.]+)\.html", model._repr_html_())
    assert link, "no link"
    assert re.search(rf"^   {link[1].removeprefix('api/polymargin.')}$", (DOCS / "api.rst").read_text(), re.MULTILINE)


@pytest.mark.parametrize("method", ["predict", "decision_function"])
@pytest.mark.parametrize("model", [JointSVC(), PairwiseSVC(), CoreVectorSVC(), AutoSVC()], ids=lambda m: str(m)[:12])
def test_decision_boundaries(model, method):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X, y = iris()
    display = DecisionBoundaryDisplay.from_estimator(
        model.fit(X[:, 2:], y), X[:, 2:], response_method=method, grid_resolution=20
    )
    assert display.response.shape[:2] == (20, 20)
    matplotlib.pyplot.close("all")


def importance(machine):
    return sensitivity_map(machine, machine.support_vectors_, of="mean")


def test_features_are_eliminated_by_sensitivity(seed):
    """Of three columns that decide and five that do not, the three stay."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 150)
    X = np.column_stack([4 * np.eye(3)[y] + rng.normal(size=(150, 3)), rng.normal(size=(150, 5))])[:, ::-1]
    ranking = RFE(PairwiseSVC(gamma=0.05), n_features_to_select=3, importance_getter=importance).fit(X, y).ranking_
    assert set(np.flatnonzero(ranking == 1)) == {5, 6, 7}
    chosen = SelectFromModel(PairwiseSVC(gamma=0.05), importance_getter=importance, max_features=3, threshold=-np.inf)
    assert chosen.fit(X, y).get_support()[5:].all()


# --- other tables and arrays ------------------------------------------------------------------------------------------


def test_tables_of_polars_and_pyarrow():
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    X, y = iris()
    columns = dict(zip("abcd", X.T, strict=True))
    expected = JointSVC().fit(X, y).decision_function(X)
    for table, labels in ((polars.DataFrame(columns), polars.Series(y)), (pyarrow.table(columns), pyarrow.array(y))):
        model = JointSVC().fit(table, labels)
        assert list(model.feature_names_in_) == list("abcd")
        assert_array_equal(model.decision_function(table), expected)


def test_words_in_tables_of_polars_and_pyarrow():
    """The same columns, the same model: no matter whose table."""
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    X, y = iris()
    colors = np.array(["red", "green", "blue"])[(y + np.arange(len(y)) % 5 // 4) % 3].tolist()
    columns = dict(length=X[:, 0], color=colors, width=X[:, 3])
    expected = AutoSVC().fit(pandas.DataFrame(columns), y).predict_proba(pandas.DataFrame(columns))
    for table, labels in ((polars.DataFrame(columns), polars.Series(y)), (pyarrow.table(columns), pyarrow.array(y))):
        model = AutoSVC().fit(table, labels)
        assert list(model.feature_names_in_) == list(columns)
        assert_array_equal(model.predict_proba(table), expected)


@pytest.mark.parametrize("model", [JointSVC(), PairwiseSVC(), CoreVectorSVC(), AutoSVC()], ids=lambda m: str(m)[:12])
@pytest.mark.parametrize("package", ["array_api_strict", "torch"])
def test_arrays_of_other_packages_are_read(package, model):
    """They are copied to NumPy once; answers are NumPy's."""
    xp = pytest.importorskip(package)
    X, y = iris()
    expected = model.fit(X, y).decision_function(X)
    assert_array_equal(model.fit(xp.asarray(X), xp.asarray(y)).decision_function(xp.asarray(X)), expected)


# --- stores and workers -----------------------------------------------------------------------------------------------


def trusted():
    """The types that docs/deploy.md lists."""
    return set(re.findall(r'"((?:polymargin|scipy|sklearn)\.[\w.]+)"', (DOCS / "deploy.md").read_text()))


FORMS = [
    *(kind(PairwiseSVC()) if "estimator" in kind._get_param_names() else kind() for kind in ESTIMATORS),
    JointSVC("scatter"),
    CoreVectorSVC(scheme="pairwise"),
]


@pytest.mark.parametrize("model", FORMS, ids=lambda model: str(model)[:40])
def test_the_types_that_skops_must_trust_are_listed(model):
    skops = pytest.importorskip("skops.io")
    X, y = iris()
    listed = trusted()
    data = skops.dumps(model.fit(X, y))
    assert set(skops.get_untrusted_types(data=data)) <= listed
    answer = "predict" if hasattr(model, "predict") else "transform"
    again = skops.loads(data, trusted=sorted(listed))
    assert_array_equal(getattr(again, answer)(X), getattr(model, answer)(X))


@pytest.mark.filterwarnings("ignore")  # MLflow's own
@pytest.mark.parametrize("form", ["skops", "cloudpickle"])
def test_mlflow_logs_and_loads(tmp_path, monkeypatch, form):
    """`make test-mlflow` installs it. Names of packages are given: MLflow would guess them in a process of its own."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow = pytest.importorskip("mlflow")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    mlflow.set_experiment("iris")
    how = dict(skops_trusted_types=sorted(trusted())) if form == "skops" else {}
    X, y = iris()
    for model in (JointSVC(), JointSVC("scatter"), PairwiseSVC(), CoreVectorSVC(), AutoSVC()):
        model.fit(X, y)
        with mlflow.start_run():
            logged = mlflow.sklearn.log_model(
                model, name="model", serialization_format=form, pip_requirements=["polymargin"], **how
            )
        again = mlflow.sklearn.load_model(logged.model_uri)
        assert_array_equal(again.decision_function(X), model.decision_function(X))
        assert_array_equal(mlflow.pyfunc.load_model(logged.model_uri).predict(X), model.predict(X))


@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_workers_of_joblib(backend):
    X, y = iris()
    grid = dict(C=[0.1, 10.0], gamma=[0.1, 1.0])
    expected = GridSearchCV(PairwiseSVC(), grid, cv=3).fit(X, y).cv_results_["mean_test_score"]
    with joblib.parallel_config(backend, n_jobs=2):
        found = GridSearchCV(PairwiseSVC(), grid, cv=3).fit(X, y).cv_results_["mean_test_score"]
    assert_array_equal(found, expected)


# --- what SVC allows --------------------------------------------------------------------------------------------------


def apart(seed):
    """Three classes that a plane each can cut off."""
    rng = np.random.default_rng(seed)
    y = np.arange(60) % 3
    return 6 * np.array([[0, 0], [1, 0], [0, 1]])[y] + rng.uniform(-1, 1, size=(60, 2)), y


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_infinite_C_is_the_hard_margin(seed, loss):
    """No row violates its margin, whatever its weight, and the model is SVC's."""
    X, y = apart(seed)
    weight = np.random.default_rng(seed).uniform(0.1, 2.0, len(y))
    model = PairwiseSVC(C=np.inf, kernel="linear", loss=loss, tol=1e-6).fit(X, y, sample_weight=weight)
    theirs = SVC(C=np.inf, kernel="linear", tol=1e-6, decision_function_shape="ovo").fit(X, y)
    assert model.status_ == "solved" and model.duality_gap_ < 1e-3
    assert_allclose(model.pair_decision_function(X), theirs.decision_function(X), atol=1e-4)
    assert set(model.support_) >= set(np.flatnonzero(np.isin(np.arange(60), theirs.support_)))
    assert 2 <= model.n_support_.sum() <= 12


@pytest.mark.parametrize("machine", ["kesler", "crammer-singer", "llw", "scatter", "ovr"])
def test_joint_machines_have_a_hard_margin(seed, machine):
    """Twice the C does not change it, and the value is that of the margin alone: primal and dual meet there."""
    X, y = apart(seed)
    model = JointSVC(machine, C=np.inf, gamma=0.2, tol=1e-6).fit(X, y)
    assert model.status_ == "solved" and model.duality_gap_ < 1e-3 and model.score(X, y) == 1
    finite = JointSVC(machine, C=1e5, gamma=0.2, tol=1e-6).fit(X, y)
    assert_allclose(model.decision_function(X), finite.decision_function(X), atol=1e-4)
    assert_array_equal(model.n_support_ > 0, True)


@pytest.mark.parametrize("model", [PairwiseSVC(kernel="linear"), JointSVC(kernel="linear"), OneVsRestSVC(gamma=1e-3)])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_hard_margin_that_does_not_exist_is_told(model, loss):
    X, y = iris()
    loss = "hinge" if isinstance(model, JointSVC) else loss
    model.set_params(C=np.inf, loss=loss)
    with pytest.warns(UserWarning, match="no row violates"):
        model.fit(X, y)


def test_the_logistic_loss_has_no_hard_margin():
    with pytest.raises(ValueError, match="expected a finite C"):
        JointSVC("scatter", loss="logistic", C=np.inf).fit(*iris())
    with pytest.raises(ValueError, match="where the search begins, to be finite"):
        RadiusMarginSearch(JointSVC(C=np.inf)).fit(*iris())


WORDS = ["salmon", "almond", "normal", "common", "kettle", "little", "letter", "better", "purple", "puppy", "upper"]
KINDS = np.array(["m"] * 4 + ["t"] * 4 + ["p"] * 3)


def pairs_of_letters(A, B):
    """How many pairs of letters two words share: an inner product of counts."""
    assert all(isinstance(word, str) for word in (*A, *B))
    counts = [{p: w.count(p) for p in map("".join, zip(w, w[1:], strict=False))} for w in A]
    return np.array([[sum(c[p] * w.count(p) for p in c) for w in B] for c in counts], dtype=float)


@pytest.mark.parametrize("model", [JointSVC(), JointSVC("scatter"), PairwiseSVC(), OneVsRestSVC(), CoreVectorSVC()])
@pytest.mark.parametrize("kind", [list, np.array, lambda words: np.array(words, dtype=object)])
def test_text_with_a_callable_kernel(model, kind):
    """As good as the same kernel values, precomputed. A list of text is a list of files for core vectors."""
    if kind is list and isinstance(model, CoreVectorSVC):
        pytest.skip("files")
    model.set_params(kernel=pairs_of_letters, C=10.0)
    new = ["mammal", "bottle", "pepper"]
    found = model.fit(kind(WORDS), KINDS).decision_function(kind(new))
    K = pairs_of_letters(WORDS, WORDS)
    model.set_params(kernel="precomputed")
    assert_allclose(found, model.fit(K, KINDS).decision_function(pairs_of_letters(new, WORDS)), atol=1e-9)


def test_text_without_such_a_kernel_is_refused():
    for model in (JointSVC(), LandmarkSVC(kernel=pairs_of_letters)):
        with pytest.raises(ValueError, match=r"expected X to hold numbers, got words|Expected 2D array"):
            model.fit(np.array(WORDS), KINDS)
    with pytest.raises(ValueError, match=r"expected the callable kernel to return finite numbers.*'salmon'"):
        JointSVC(kernel=lambda A, B: np.full((len(A), len(B)), np.nan)).fit(WORDS, KINDS)


# In a process where nothing but NumPy, SciPy and scikit-learn can be imported.
ALONE = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ("pandas", "typer", "rich", "matplotlib", "jinja2", "pyarrow", "polars", "onnx", "dask"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
import numpy as np
from sklearn.datasets import load_iris
import polymargin
from polymargin.__main__ import main

X, y = load_iris(return_X_y=True)
for name in ("AutoSVC", "JointSVC", "PairwiseSVC", "CoreVectorSVC", "LandmarkSVC", "StructuredSVC"):
    model = getattr(polymargin, name)().fit(X, y)
    again = polymargin.load_model(polymargin.save_model(model, f"{sys.argv[1]}/{name}.pm"))
    assert (again.predict(X) == model.predict(X)).all() and model.score(X, y) > 0.9, name
    assert name == "StructuredSVC" or polymargin.sensitivity_map(model, X, of="mean").shape == (4,), name
assert polymargin.KernelSearchCV(polymargin.PairwiseSVC(), C=[1], verbose=1).fit(X, y).score(X, y) > 0.9
try:
    polymargin.AutoSVC().fit(np.array([["a"], ["b"]] * 20, dtype=object), [0, 1] * 20)
except ImportError as error:
    print(error)
main()
"""


def test_the_library_needs_neither_pandas_nor_typer_nor_rich(tmp_path):
    run = [sys.executable, "-W", "ignore", "-c", ALONE, str(tmp_path)]
    run = subprocess.run(run, capture_output=True, text=True)
    assert run.returncode == 1 and 'pandas: pip install "polymargin[cli]"' in run.stdout, run.stderr
    said = 'polymargin: the command line needs the package typer: pip install "polymargin[cli]"'
    assert run.stderr.splitlines() == [said]


def test_what_is_installed_without_extras():
    """What `import polymargin` leans on, and nothing for the command."""
    required = {re.match(r"[\w-]+", line)[0] for line in requires("polymargin") if "extra ==" not in line}
    assert required == {"numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl"}
