"""A disk and a shared memory that are full: what was there stays, the sentence says so, and fits go on."""

import json
import subprocess
import sys

import pytest
from namespaces import namespace

# In a namespace of its own: 128 kB at the folder and at /dev/shm, which is full when models are fitted.
PROGRAM = """
import contextlib, json, os, subprocess, sys

folder = sys.argv[1]
for place in (folder, "/dev/shm"):
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "none", place], check=True)

import numpy as np

from polymargin import JointSVC, KernelSearchCV, PairwiseSVC, load_model, save_model

rng = np.random.default_rng(0)
X, y = rng.normal(size=(2000, 40)), np.arange(2000) % 3
path = save_model(JointSVC().fit(X[:60], y[:60]), folder + "/model.pm")
said = {}
try:
    save_model(PairwiseSVC().fit(X, y), path)
except OSError as error:
    said["save"] = str(error)
said["folder"], said["rows"] = os.listdir(folder), load_model(path).shape_fit_[0]
for place in (folder, "/dev/shm"):
    with open(place + "/rest", "wb", buffering=0) as rest, contextlib.suppress(OSError):
        while rest.write(bytes(1000)):
            pass
search = KernelSearchCV(PairwiseSVC(tol=0.1), C=[1.0], gamma=[0.01], n_jobs=2, cv=2)
said["status"] = [model.fit(X, y).status_ for model in (PairwiseSVC(n_jobs=2), JointSVC(n_jobs=2), search)]
print(json.dumps(said))
"""


@pytest.mark.skipif(namespace("mount") is None, reason="needs the right to make a mount namespace")
def test_a_full_disk(tmp_path):
    words = [*namespace("mount"), sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert "could not write the model, No space left on device; what was at" in said["save"]
    assert said["folder"] == ["model.pm"] and said["rows"] == 60
    assert said["status"] == ["solved"] * 3
