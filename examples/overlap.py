"""
What scatter does not see
=========================

Four Gaussians in the plane, two of them close together. Left: crammer-singer wants the score of a row's own class above
the score of every other class. Middle: scatter wants it above the mean of all scores. Between two overlapping classes,
far from the others, both scores beat the mean, so nothing says which should be larger, and the boundary goes astray.
Right: the same rows with the means five times as far apart, where almost nothing is lost.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

from polymargin import JointSVC

COLORS = ListedColormap(["#8fb8de", "#f2b880", "#a8cf9f", "#d9a3b8"])
DARK = np.array(["#1f4e79", "#a85b00", "#2f6b2a", "#8a2f55"])
MEANS = np.array([[-1.0, 0.3], [0.2, 0.3], [0.9, -1.2], [1.2, 1.5]])


def four_classes(n, apart, seed=0):
    """n rows of unit spread, and the share of them that Bayes' rule has right."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    X = apart * MEANS[y] + rng.standard_normal((n, 2))
    nearest = ((X[:, None] - apart * MEANS) ** 2).sum(-1).argmin(1)
    return X, y, np.mean(nearest == y)


found = []
figure, panels = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained")
for panel, machine, apart in zip(panels, ("crammer-singer", "scatter", "scatter"), (1.0, 1.0, 5.0), strict=True):
    X, y, _ = four_classes(2000, apart)
    X_test, y_test, bayes = four_classes(20_000, apart, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scatter says what the picture shows
        model = JointSVC(machine, C=1.0, gamma=0.3).fit(X, y)
    found.append((model.score(X_test, y_test), bayes))
    low, high = X.min(axis=0), X.max(axis=0)
    grid = np.meshgrid(*(np.linspace(a, b, 250) for a, b in zip(low, high, strict=True)))
    regions = model.predict(np.column_stack([part.ravel() for part in grid])).reshape(250, 250)
    extent = [low[0], high[0], low[1], high[1]]
    panel.imshow(regions, origin="lower", extent=extent, aspect="auto", cmap=COLORS, vmin=0, vmax=3, alpha=0.75)
    panel.scatter(*X[::4].T, c=DARK[y[::4]], s=5, linewidths=0)
    panel.set(xticks=[], yticks=[])
    panel.set_title(f"{machine}: {100 * found[-1][0]:.1f}% right (Bayes {100 * bayes:.1f})", fontsize=10)
    print(f"{machine}, means times {apart:g}: {found[-1][0]:.3f}, Bayes {bayes:.3f}")
plt.show()
