import numpy as np
import pytest
from command_lines import run
from sklearn.datasets import load_wine


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two halves of wine as CSV, with words and gaps, and a model of the first."""
    where = tmp_path_factory.mktemp("cli")
    table = load_wine(as_frame=True).frame.rename(columns={"target": "cultivar"})
    table["cultivar"] = np.array(["barolo", "grignolino", "barbera"])[table["cultivar"]]
    table["strong"] = np.where(table["alcohol"] > 13, "yes", "no")
    table.loc[::17, "ash"] = np.nan
    table[::2].to_csv(where / "train.csv", index=False)
    table[1::2].to_csv(where / "test.csv", index=False)
    run("fit", "train.csv", "--target", "cultivar", "--out", "wine.pm", cwd=where)
    return where
