"""Fits and predictions that threads of Python run at once, as on a Python without the global lock; and in processes."""

import multiprocessing
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import joblib
import pytest
from data_sets import iris
from numpy.testing import assert_array_equal
from sklearn.base import clone

from polymargin import (
    CoreVectorSVC,
    EnclosingBall,
    JointSVC,
    KernelSearchCV,
    LandmarkSVC,
    OneVsRestSVC,
    PairwiseSVC,
    RadiusMarginSearch,
    StructuredSVC,
    SupervisedIsomap,
)

AT_ONCE = 8
MODELS = [
    *(JointSVC(machine) for machine in ("scatter", "kesler", "crammer-singer", "llw", "ovr")),
    *(JointSVC("kesler", kernel="linear"), PairwiseSVC(), OneVsRestSVC(), CoreVectorSVC(random_state=0), LandmarkSVC()),
    *(EnclosingBall(random_state=0), StructuredSVC(), SupervisedIsomap()),
    *(KernelSearchCV(PairwiseSVC(), C=[1, 10], gamma=[0.1, 1], cv=2), RadiusMarginSearch(PairwiseSVC(), cv=None)),
]


def answer(model, X):
    return model.transform(X) if hasattr(model, "transform") else model.decision_function(X)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model)[:30])
def test_fits_at_once_are_fits_one_by_one(model):
    """Each thread has a model of its own; then all ask the same one. Every second one has other labels."""
    X, y = iris()
    labels = [y, y[::-1].copy()] * (AT_ONCE // 2)
    expected = [answer(clone(model).set_params(n_jobs=1).fit(X, of), X) for of in labels[:2]]
    start = Barrier(AT_ONCE)

    def fitted(of):
        start.wait()
        return clone(model).set_params(n_jobs=1).fit(X, of)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        models = list(pool.map(fitted, labels))
        for k, found in enumerate(models):
            assert_array_equal(answer(found, X), expected[k % 2])
        for found in pool.map(lambda _: answer(models[0], X), range(AT_ONCE)):
            assert_array_equal(found, expected[0])


def answers():
    X, y = iris()
    return [answer(clone(model).set_params(n_jobs=1).fit(X, y), X) for model in MODELS]


def send_answers(pipe):
    pipe.send(answers())


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # newer Pythons warn of it where there are threads
@pytest.mark.parametrize("start", ["fork", "spawn", "loky"])
def test_processes_have_the_same_bits(start):
    """A fork has the locks and threads' data of its parent, which has fitted before; the others begin anew."""
    if start not in (*multiprocessing.get_all_start_methods(), "loky"):
        pytest.skip(f"no {start} here")
    expected = answers()
    if start == "loky":
        (found,) = joblib.Parallel(n_jobs=2, backend="loky")([joblib.delayed(answers)()])
    else:
        context = multiprocessing.get_context(start)
        ours, theirs = context.Pipe()
        process = context.Process(target=send_answers, args=(theirs,), daemon=True)
        process.start()
        assert ours.poll(300), "no answer"
        found = ours.recv()
        process.join()
    for one, other in zip(found, expected, strict=True):
        assert_array_equal(one, other)


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="a Python with the global lock")
def test_the_core_leaves_the_lock_away():
    """A module that does not declare that it does without turns the lock on for the whole process."""
    code = "import sys; import sklearn.svm; before = sys._is_gil_enabled(); import polymargin; polymargin.JointSVC; "
    code += "assert 'polymargin._core' in sys.modules; sys.exit(sys._is_gil_enabled() and not before)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
