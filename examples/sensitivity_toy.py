"""Which of five features decide? The scatter paper's toy experiment, its figures 16 to 20.

Three classes of 100 rows each. Each of the first three features tells one class from the two others, the last two are
noise. The machine classifies new rows perfectly, and its sensitivity maps name the three features.

    python examples/sensitivity_toy.py
"""

import matplotlib.pyplot as plt
import numpy as np

from polymargin import JointSVC, SensitivityDisplay

NAMES = [f"dim {j + 1}" for j in range(5)]
COLORS = ("#0072B2", "#E69F00", "#009E73")


def toy(seed):
    """Rows and classes: class c is shifted along feature c."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], 100)
    X = 0.5 * rng.normal(size=(300, 5))
    X[np.arange(300), y] += 3.0
    return X, y


def draw_rows(X, y):
    """Figure 16: the 300 values of every dimension, row by row."""
    figure, panels = plt.subplots(5, 1, figsize=(6, 6.5), sharex=True, layout="constrained")
    for panel, values, name in zip(panels, X.T, NAMES, strict=True):
        panel.scatter(np.arange(len(y)), values, c=[COLORS[c] for c in y], s=5)
        panel.set_ylabel(name)
    panels[0].set_title("five dimensions, of which the first three tell the classes apart")
    panels[-1].set_xlabel("row: 100 of each class")
    return figure


def main(out="sensitivity_toy.png"):
    X, y = toy(seed=0)
    model = JointSVC("scatter", C=10, gamma=0.1).fit(X, y)
    print("accuracy on new rows:", model.score(*toy(seed=1)))
    display = SensitivityDisplay.from_estimator(model, X, of="mean", feature_names=NAMES)
    each = SensitivityDisplay.from_estimator(model, X, y, feature_names=NAMES)
    print("most sensitive first:", ", ".join(NAMES[j] for j in np.argsort(-display.sensitivities[0])))
    draw_rows(X, y).savefig(out.replace(".png", "_rows.png"))
    display.figure_.savefig(out)
    each.figure_.savefig(out.replace(".png", "_classes.png"))
    return model, display, each


if __name__ == "__main__":
    main()
