"""Some hundred damaged files of every kind; `python tests/fuzz_files.py --models 20000 --tables 5000` tries more."""

import sys
import warnings

import pytest

if sys.platform != "linux":
    pytest.skip("the worker bounds its memory as Linux does", allow_module_level=True)

import fuzz_files


@pytest.mark.parametrize(
    "kind, write, number", [("models", fuzz_files.write_models, 300), ("tables", fuzz_files.write_tables, 150)]
)
def test_damaged_files_are_refused_or_predict(kind, write, number, tmp_path, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write(tmp_path)
    assert fuzz_files.run(kind, tmp_path, seed, 0, number, keep=None) == []
