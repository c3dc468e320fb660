"""Which of five features decide? The scatter paper's toy experiment, its figures 16 to 20.

Three classes of 100 rows each. Each of the first three features tells one class from the two others, the last two are
noise. The machine classifies new rows perfectly, and its sensitivity maps name the three features.

    python examples/sensitivity_toy.py
"""

import numpy as np

from polymargin import JointSVC, SensitivityDisplay


def toy(seed):
    """Rows and classes: class c is shifted along feature c."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], 100)
    X = 0.5 * rng.normal(size=(300, 5))
    X[np.arange(300), y] += 3.0
    return X, y


def main(out="sensitivity_toy.png"):
    X, y = toy(seed=0)
    model = JointSVC(C=10, gamma=0.1).fit(X, y)
    print("accuracy on new rows:", model.score(*toy(seed=1)))
    names = [f"dim {j + 1}" for j in range(5)]
    display = SensitivityDisplay.from_estimator(model, X, of="mean", feature_names=names)
    each = SensitivityDisplay.from_estimator(model, X, y, feature_names=names)
    print("most sensitive first:", ", ".join(names[j] for j in np.argsort(-display.sensitivities[0])))
    display.figure_.savefig(out)
    each.figure_.savefig(out.replace(".png", "_classes.png"))
    return model, display, each


if __name__ == "__main__":
    main()
