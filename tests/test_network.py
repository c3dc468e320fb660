"""Nothing is fetched and nobody is called: import, fit, search, save and load work without a network."""

import subprocess
import sys

import pytest
from namespaces import namespace

# Every way to the network that Python has asks the audit hooks first; pipes between processes are no network.
PROGRAM = """
import sys

def refuse(event, arguments):
    asked = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto")
    if event.startswith("urllib") or event in asked:
        raise AssertionError(f"the network was asked: {event} {arguments}")

sys.addaudithook(refuse)
import tempfile

import polymargin
from sklearn.datasets import load_iris

for name in polymargin.__all__:
    getattr(polymargin, name)
X, y = load_iris(return_X_y=True)
with tempfile.TemporaryDirectory() as folder:
    for model in (
        polymargin.JointSVC(), polymargin.AutoSVC(C=1.0, gamma=0.3), polymargin.CoreVectorSVC(),
        polymargin.KernelSearchCV(polymargin.PairwiseSVC(), C=[1.0], gamma=[0.1, 1.0], cv=2, n_jobs=2),
    ):
        path = polymargin.save_model(model.fit(X, y), f"{folder}/model.pm")
        assert (polymargin.load_model(path).predict(X) == model.predict(X)).all()
print("done")
"""


def test_no_network():
    done = subprocess.run(
        [*(namespace("net") or []), sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0 and done.stdout == "done\n", done.stderr


@pytest.mark.skipif(namespace("net") is None, reason="needs the right to make a network namespace")
def test_there_is_none_in_the_namespace():
    words = [*namespace("net"), sys.executable, "-c", "import socket; socket.create_connection(('192.0.2.1', 80), 5)"]
    assert "Network is unreachable" in subprocess.run(words, capture_output=True, text=True, timeout=60).stderr
