"""
The features that decide
========================

Three classes in five dimensions. Each of the first three features separates one class from the other two, and the last
two features are noise. The machine classifies new rows perfectly, and its sensitivity maps find the three features. See
Jenssen et al. (2012), figures 16 to 20.
"""

import matplotlib.pyplot as plt
import numpy as np

from polymargin import JointSVC, SensitivityDisplay

NAMES = [f"x{j + 1}" for j in range(5)]
COLORS = np.array(["#0072B2", "#E69F00", "#009E73"])


def toy(seed):
    """Rows and classes: class c is shifted along feature c."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], 100)
    X = 0.5 * rng.normal(size=(300, 5))
    X[np.arange(300), y] += 3.0
    return X, y


X, y = toy(seed=0)
model = JointSVC("scatter", C=10, gamma=0.1).fit(X, y)
print("accuracy on new rows:", model.score(*toy(seed=1)))

figure, panels = plt.subplots(5, 1, figsize=(7, 5), sharex=True, layout="constrained")
for panel, values, name in zip(panels, X.T, NAMES, strict=True):
    panel.scatter(np.arange(len(y)), values, c=COLORS[y], s=5)
    panel.set_ylabel(name)
panels[0].set_title("five dimensions, of which the first three tell the classes apart")
panels[-1].set_xlabel("row: 100 of each class")

figure, panels = plt.subplots(1, 4, figsize=(11, 2.8), layout="constrained")
mean = SensitivityDisplay.from_estimator(model, X, of="mean", feature_names=NAMES, ax=panels[0])
each = SensitivityDisplay.from_estimator(model, X, y, feature_names=NAMES, ax=panels[1:])
print("most sensitive first:", ", ".join(NAMES[j] for j in np.argsort(-mean.sensitivities[0])))
plt.show()
