"""ONNX graphs give the scores and labels of the model they were made from."""

import sys

import numpy as np
import oracles
import pytest
import scipy.sparse as sp
from data_sets import blobs
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from polymargin import (
    AutoSVC,
    CoreVectorSVC,
    EnclosingBall,
    GRNNRegressor,
    JointSVC,
    KernelDensityNB,
    LandmarkSVC,
    OneVsRestSVC,
    OutputCodeSVC,
    PairwiseSVC,
    StructuredSVC,
    SupervisedIsomap,
    kernels,
)
from polymargin.machines import MACHINES
from polymargin.onnx import operators, register, to_onnx

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

X, y = blobs([14, 11, 9, 12], 5, seed=3, spread=0.9)
Z = blobs([30, 30, 30, 30], 5, seed=4, spread=1.2)[0]
WORDS = np.array(["ash", "beech", "oak", "willow"])
KERNELS = {
    **{kernel: dict(gamma=0.1, coef0=0.5) for kernel in oracles.KERNELS},
    "ellipsoidal": dict(kernel="rbf", gamma=[0.1, 0.2, 0.0, 0.3, 0.4]),
}
MODELS = {
    **{machine: JointSVC(machine) for machine in MACHINES},
    **{k: JointSVC("scatter", **(dict(kernel=k) | how)) for k, how in KERNELS.items()},
    "core": CoreVectorSVC(),
    "core unit": CoreVectorSVC(normalize=True),
    "core pairs": CoreVectorSVC(scheme="pairwise", intercept="regularized"),
    "landmarks": LandmarkSVC(n_landmarks=12),
    "structured": StructuredSVC(),
    "structured slack": StructuredSVC(rescaling="slack", intercept="none"),
    "exact": JointSVC("scatter", nu=0.2, intercept="exact"),
    "pairs": PairwiseSVC(),
    "dag": PairwiseSVC(decision="dag"),
    "rest": OneVsRestSVC(kernel="poly", coef0=1.0),
    **{f"code-{d}": OutputCodeSVC(decoding=d, random_state=0) for d in ("exp", "hinge", "hamming")},
    "sparse code": OutputCodeSVC(code="sparse", random_state=0, kernel="linear"),
    "standard": make_pipeline(StandardScaler(), JointSVC("scatter")),
    "standard half": make_pipeline(StandardScaler(with_mean=False), MaxAbsScaler(), JointSVC("scatter")),
    "minmax": make_pipeline(MinMaxScaler((-1, 1), clip=True), "passthrough", PairwiseSVC()),
    "auto": AutoSVC(C=3.0, gamma=0.2),
    "auto joint": AutoSVC("kesler", C=3.0, gamma=0.2),
    "plane": make_pipeline(StandardScaler(), SupervisedIsomap(3, n_neighbors=6), PairwiseSVC()),
}
ignores = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # sigmoid is indefinite


def answers(proto, rows, double, names):
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(names, {"X": rows.astype(np.float64 if double else np.float32)})


def run(model, rows, double):
    return answers(to_onnx(model, double=double), rows, double, ["label", "scores"])


def check(model, rows, double, tol=None):
    label, scores = run(model, rows, double)
    expected = model.decision_function(rows)
    assert scores.shape == expected.shape
    assert_allclose(scores, expected, rtol=0, atol=(tol or (1e-9 if double else 1e-5)) * max(1, np.abs(expected).max()))
    S = np.sort(np.column_stack([-expected, expected]) if expected.ndim == 1 else expected, axis=1)
    clear = S[:, -1] - S[:, -2] > 1e-4  # of nearly equal scores either may win in float32
    assert clear.mean() > 0.9
    assert_array_equal(label[clear], model.predict(rows)[clear])


def test_every_kernel_has_operators():
    assert {*operators.OPERATORS, "linear"} == {*kernels.KERNELS}


@ignores
@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_every_model(name, double):
    rows = Z.astype(np.float32).astype(float)
    check(MODELS[name].fit(X, y), rows, double)


@pytest.mark.parametrize(
    "model",
    [
        JointSVC("scatter"),
        JointSVC("kesler"),
        PairwiseSVC(),
        OneVsRestSVC(),
        OutputCodeSVC(),
        CoreVectorSVC(scheme="pairwise"),
        StructuredSVC(),
        AutoSVC(C=1.0, gamma=0.2),
    ],
)
def test_two_classes(model):
    check(model.fit(X, y > 1), Z.astype(np.float32).astype(float), double=True)


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("machine", ["pairwise", "one-vs-rest", "kesler", "core-vector", "landmarks"])
@pytest.mark.parametrize("labels", [y, y > 1], ids=["four", "two"])
def test_probabilities_and_gaps(machine, labels, double):
    rows, gaps = Z.astype(np.float32).astype(float), X.copy()
    gaps[::5, 1] = rows[::3, 1] = rows[1::7, 2] = np.nan
    model = AutoSVC(machine, C=1.0, gamma=0.2).fit(gaps, labels)
    (P,) = answers(to_onnx(model, double=double), rows, double, ["probabilities"])
    assert_allclose(P, model.predict_proba(rows), atol=1e-8 if double else 1e-5)
    check(model, rows, double)


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize(
    "model, targets",
    [
        (GRNNRegressor(), X[:, 0]),
        (GRNNRegressor(spread=0.05), X[:, :2]),
        (GRNNRegressor(n_neighbors=4), X[:, :2]),
        (GRNNRegressor(n_neighbors=4, interpolate=True), X[:, :2]),
        (GRNNRegressor(interpolate=True), X[:, :2]),
        (SupervisedIsomap(n_neighbors=6), y),
    ],
)
def test_the_map_of_new_rows(model, targets, double):
    A = np.vstack([X, X[:3]]).astype(np.float32).astype(float)  # with equal rows
    model.fit(A, np.concatenate([targets, targets[:3] if targets is y else targets[3:6]]))
    far = 100 * Z[:3]  # where every weight underflows
    rows = np.vstack([Z, A, far]).astype(np.float32).astype(float)
    name, method = ("embedding", "transform") if isinstance(model, SupervisedIsomap) else ("prediction", "predict")
    (found,) = answers(to_onnx(model, double=double), rows, double, [name])
    expected = getattr(model, method)(rows)
    assert found.shape == expected.shape
    # Squares of far rows leave few digits for differences between training rows.
    near = np.arange(len(rows)) < len(rows) - (0 if double else len(far))
    scale = max(1, np.abs(expected).max())
    assert_allclose(found[near], expected[near], atol=(1e-8 if double else 1e-5) * scale)
    assert np.isfinite(found).all()


def test_weights_of_the_map_of_new_rows():
    weight = np.arange(1, 1 + len(y)) % 4.0
    model = GRNNRegressor().fit(X, X[:, :2], weight)
    (found,) = answers(to_onnx(model, double=True), Z, True, ["prediction"])
    assert_allclose(found, model.predict(Z), atol=1e-8)
    with pytest.raises(ValueError, match="rows of weight 1"):
        to_onnx(GRNNRegressor(n_neighbors=3).fit(X, X[:, :2], weight))


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("name", ["pairs", "dag", "core pairs", "structured", "exact", "auto", "code-exp", "plane"])
def test_skl2onnx(name, double):
    skl2onnx = pytest.importorskip("skl2onnx")
    register()
    register()
    model = make_pipeline(StandardScaler(), PCA(3), MODELS[name]).fit(X, WORDS[y])
    rows = Z.astype(np.float64 if double else np.float32)
    proto = skl2onnx.to_onnx(model, rows[:1], options={"zipmap": False})
    label, scores = answers(proto, rows, double, ["label", "scores"])
    expected = model.decision_function(rows.astype(float))
    assert_allclose(scores, expected, atol=(1e-8 if double else 2e-5) * max(1, np.abs(expected).max()))
    assert (label == model.predict(rows.astype(float))).mean() > 0.98


def test_skl2onnx_maps_and_regressors():
    skl2onnx = pytest.importorskip("skl2onnx")
    register()
    for model, targets, name in ((SupervisedIsomap(), y, "embedding"), (GRNNRegressor(), X[:, 0], "prediction")):
        pipe = make_pipeline(PCA(3), model).fit(X, targets)
        (found,) = answers(skl2onnx.to_onnx(pipe, X[:1]), Z, True, [name])
        assert_allclose(found, pipe.transform(Z) if name == "embedding" else pipe.predict(Z), atol=1e-8)


def test_skl2onnx_is_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match=r'pip install "polymargin\[onnx\]"'):
        register()


@pytest.mark.parametrize(
    "classes, kind",
    [(WORDS, "O"), (WORDS.astype(object), "O"), (np.arange(4, dtype=np.int8), "i"), (np.arange(4.0), "f")],
)
def test_labels(classes, kind):
    model = JointSVC("scatter").fit(X, classes[y])
    label = run(model, X, double=True)[0]
    assert label.dtype.kind == kind
    assert_array_equal(label, model.predict(X))


def test_precomputed_and_sparse():
    model = PairwiseSVC(kernel="precomputed").fit(X @ X.T, y)
    check(model, Z @ X.T, double=True)
    check(JointSVC("scatter").fit(sp.csr_array(X), y), Z, double=True)


def test_data_far_from_zero():
    model = JointSVC("scatter", gamma=0.1).fit(X + 1000, y)
    check(model, (Z + 1000).astype(np.float32).astype(float), double=False, tol=1e-3)  # float32 rows have steps of 6e-5
    check(model, Z + 1000, double=True)


def test_zero_rows_of_the_cosine_kernel():
    check(JointSVC("scatter", kernel="cosine").fit(X, y), np.vstack([Z, np.zeros(5), 1e-30 * Z[:1]]), double=False)


def test_one_row():
    check(JointSVC("scatter").fit(X, y), X[:1], double=True)


def test_file(tmp_path):
    path = tmp_path / "model.onnx"
    model = JointSVC("scatter").fit(X, y)
    to_onnx(model, path)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    assert_array_equal(session.run(["label"], {"X": X.astype(np.float32)})[0], model.predict(X))


@pytest.mark.parametrize(
    "model, said",
    [
        (JointSVC("scatter", kernel=oracles.linear), "got a callable"),
        (SVC(), "got SVC"),
        (make_pipeline(PCA(2), JointSVC("scatter")), "got PCA; for other steps call polymargin.onnx.register"),
        (KernelDensityNB(), "got KernelDensityNB"),
        (make_pipeline(StandardScaler(), EnclosingBall()), "got EnclosingBall"),
    ],
)
def test_errors(model, said):
    with pytest.raises(ValueError, match=said):
        to_onnx(model.fit(X, y))


def test_words_are_refused():
    frame = pytest.importorskip("pandas").DataFrame(X, columns=list("abcde"))
    frame["word"] = WORDS[y]
    with pytest.raises(ValueError, match="got columns of words"):
        to_onnx(AutoSVC(C=1.0, gamma=0.2).fit(frame, y))


def test_not_fitted_and_not_installed(monkeypatch):
    with pytest.raises(ValueError, match="not fitted"):
        to_onnx(JointSVC("scatter"))
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r'pip install "polymargin\[onnx\]"'):
        to_onnx(JointSVC("scatter").fit(X, y))
