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

from polymargin import CoreVectorSVC, JointSVC, OneVsRestSVC, OutputCodeSVC, PairwiseSVC
from polymargin.machines import MACHINES
from polymargin.onnx import to_onnx

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

X, y = blobs([14, 11, 9, 12], 5, seed=3, spread=0.9)
Z = blobs([30, 30, 30, 30], 5, seed=4, spread=1.2)[0]
WORDS = np.array(["ash", "beech", "oak", "willow"])
KERNELS = {
    "rbf": {},
    "ellipsoidal": dict(kernel="rbf", gamma=[0.1, 0.2, 0.0, 0.3, 0.4]),
    "linear": {},
    "poly": dict(gamma=0.3, coef0=1.0, degree=3),
    "sigmoid": dict(gamma=0.05, coef0=0.1),
    "cosine": {},
    "laplacian": {},
}
MODELS = {
    **{machine: JointSVC(machine) for machine in MACHINES},
    **{k: JointSVC(**(dict(kernel=k) | how)) for k, how in KERNELS.items()},
    "core": CoreVectorSVC(),
    "core unit": CoreVectorSVC(normalize=True),
    "exact": JointSVC(nu=0.2, intercept="exact"),
    "pairs": PairwiseSVC(),
    "dag": PairwiseSVC(decision="dag"),
    "rest": OneVsRestSVC(kernel="poly", coef0=1.0),
    **{f"code-{d}": OutputCodeSVC(decoding=d, random_state=0) for d in ("exp", "hinge", "hamming")},
    "sparse code": OutputCodeSVC(code="sparse", random_state=0, kernel="linear"),
    "standard": make_pipeline(StandardScaler(), JointSVC()),
    "standard half": make_pipeline(StandardScaler(with_mean=False), MaxAbsScaler(), JointSVC()),
    "minmax": make_pipeline(MinMaxScaler((-1, 1), clip=True), "passthrough", PairwiseSVC()),
}
ignores = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # sigmoid is no kernel


def run(model, rows, double):
    proto = to_onnx(model, double=double)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(["label", "scores"], {"X": rows.astype(np.float64 if double else np.float32)})


def check(model, rows, double, tol=None):
    label, scores = run(model, rows, double)
    expected = model.decision_function(rows)
    assert scores.shape == expected.shape
    assert_allclose(scores, expected, rtol=0, atol=(tol or (1e-9 if double else 1e-5)) * max(1, np.abs(expected).max()))
    S = np.sort(np.column_stack([-expected, expected]) if expected.ndim == 1 else expected, axis=1)
    clear = S[:, -1] - S[:, -2] > 1e-4  # of nearly equal scores either may win in float32
    assert clear.mean() > 0.9
    assert_array_equal(label[clear], model.predict(rows)[clear])


@ignores
@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_every_model(name, double):
    rows = Z.astype(np.float32).astype(float)
    check(MODELS[name].fit(X, y), rows, double)


@pytest.mark.parametrize("model", [JointSVC(), JointSVC("kesler"), PairwiseSVC(), OneVsRestSVC(), OutputCodeSVC()])
def test_two_classes(model):
    check(model.fit(X, y > 1), Z.astype(np.float32).astype(float), double=True)


@pytest.mark.parametrize(
    "classes, kind",
    [(WORDS, "O"), (WORDS.astype(object), "O"), (np.arange(4, dtype=np.int8), "i"), (np.arange(4.0), "f")],
)
def test_labels(classes, kind):
    model = JointSVC().fit(X, classes[y])
    label = run(model, X, double=True)[0]
    assert label.dtype.kind == kind
    assert_array_equal(label, model.predict(X))


def test_precomputed_and_sparse():
    model = PairwiseSVC(kernel="precomputed").fit(X @ X.T, y)
    check(model, Z @ X.T, double=True)
    check(JointSVC().fit(sp.csr_array(X), y), Z, double=True)


def test_data_far_from_zero():
    model = JointSVC(gamma=0.1).fit(X + 1000, y)
    check(model, (Z + 1000).astype(np.float32).astype(float), double=False, tol=1e-3)  # float32 rows have steps of 6e-5
    check(model, Z + 1000, double=True)


def test_zero_rows_of_the_cosine_kernel():
    check(JointSVC(kernel="cosine").fit(X, y), np.vstack([Z, np.zeros(5), 1e-30 * Z[:1]]), double=False)


def test_one_row():
    check(JointSVC().fit(X, y), X[:1], double=True)


def test_file(tmp_path):
    path = tmp_path / "model.onnx"
    model = JointSVC().fit(X, y)
    to_onnx(model, path)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    assert_array_equal(session.run(["label"], {"X": X.astype(np.float32)})[0], model.predict(X))


@pytest.mark.parametrize(
    "model, said",
    [
        (JointSVC(kernel=oracles.linear), "found a callable"),
        (SVC(), "found SVC"),
        (CoreVectorSVC(scheme="pairwise"), "use PairwiseSVC"),
        (make_pipeline(PCA(2), JointSVC()), "found PCA"),
    ],
)
def test_errors(model, said):
    with pytest.raises(ValueError, match=said):
        to_onnx(model.fit(X, y))


def test_not_fitted_and_not_installed(monkeypatch):
    with pytest.raises(ValueError, match="not fitted"):
        to_onnx(JointSVC())
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r'pip install "polymargin\[onnx\]"'):
        to_onnx(JointSVC().fit(X, y))
