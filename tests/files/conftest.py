"""Where the tests of files write them."""

import pytest


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.pm"
