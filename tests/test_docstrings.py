"""Parameters in docstrings: all of them are there, and one that several machines share has one description."""

import inspect
import re

import pytest

import polymargin
from polymargin import AutoSVC, JointSVC, LandmarkSVC, kernels
from polymargin.machines import MACHINES
from polymargin.training.expansions import KernelExpansion

PUBLIC = [getattr(polymargin, name) for name in polymargin.__all__]
ESTIMATORS = [each for each in PUBLIC if hasattr(each, "get_params")]
KERNEL_MACHINES = [each for each in ESTIMATORS if issubclass(each, KernelExpansion)]
SHARED = ("kernel", "gamma", "degree", "coef0", "n_jobs", "verbose")


def described(documented):
    """{parameter: (type, text)} of a numpydoc docstring."""
    section = re.search(r"\nParameters\n-+\n(.*?)(?=\n\n[A-Z][\w ]+\n-+\n|\Z)", inspect.getdoc(documented), re.DOTALL)
    found = {}
    for head, body in re.findall(r"^(\S[^\n]*)\n((?:    [^\n]*\n?|\n)*)", section[1].replace("\\\n", "") + "\n", re.M):
        names, _, kind = head.partition(" : ")
        found |= dict.fromkeys(names.split(", "), (kind, " ".join(body.split())))
    return found


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_parameter_is_described(estimator):
    assert set(described(estimator)) == set(inspect.signature(estimator).parameters)


@pytest.mark.parametrize("machine", KERNEL_MACHINES)
@pytest.mark.parametrize("name", SHARED)
def test_what_machines_share_is_described_once(name, machine):
    """In the same words as in JointSVC, or by a reference to it."""
    text = described(machine)[name]
    assert text == described(JointSVC)[name] or "in :class:`JointSVC`" in text[1]


def test_every_kernel_and_machine_is_named():
    def names(estimator, parameter):
        return set(re.findall(r'"([\w-]+)"', described(estimator)[parameter][0].split("default")[0]))

    assert names(JointSVC, "kernel") == set(kernels.KERNELS)
    assert names(AutoSVC, "kernel") == set(kernels.BY_NAME)
    assert names(JointSVC, "machine") == names(LandmarkSVC, "machine") == set(MACHINES)
