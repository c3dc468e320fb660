"""How the tests of landmarks make small problems go the way of large ones."""

import pytest

from polymargin.landmarks import passes, training


@pytest.fixture
def by_passes(monkeypatch):
    """Small problems too, by Newton steps and passes in several blocks."""
    monkeypatch.setattr(training, "SMALL", 0)
    monkeypatch.setattr(passes, "STEP", 256)
