"""
Many rows that overlap
======================

Where classes overlap, the number of support vectors grows with the rows, and exact training takes time proportional to
its square. LandmarkSVC sums its scores over a few rows only, the landmarks (black), and finds the best machine of that
kind, with a certified gap. Right: its accuracy on new rows. About fifty landmarks out of 8,000 rows are enough.
"""

import matplotlib.pyplot as plt
import numpy as np

from polymargin import LandmarkSVC


def spirals(n, seed):
    """Three arms of a spiral, with noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    t = np.sqrt(rng.random(n)) * 2.2
    angle = 2.2 * t + 2 * np.pi * y / 3
    return np.column_stack([t * np.cos(angle), t * np.sin(angle)]) + 0.25 * rng.standard_normal((n, 2)), y


X, y = spirals(8_000, seed=0)
X_test, y_test = spirals(20_000, seed=1)
counts = (5, 10, 20, 50, 100, 200)
models = [LandmarkSVC(n_landmarks=m, C=1, gamma=2.0, random_state=0).fit(X, y) for m in counts]
for m, model in zip(counts, models, strict=True):
    print(f"{m:4} landmarks: gap {model.duality_gap_:.2%}, residual {model.residual_:.3f}, {model.status_}")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
axis = np.linspace(-2.8, 2.8, 300)
Z = np.column_stack([part.ravel() for part in np.meshgrid(axis, axis)])
regions = models[4].predict(Z).reshape(300, 300)
left.imshow(regions, origin="lower", extent=[-2.8, 2.8] * 2, cmap="Set2", vmin=0, vmax=7, alpha=0.6)
left.scatter(*X[:4_000].T, c=np.array(["#1b7a5a", "#b5522a", "#4a5f9e"])[y[:4_000]], s=2, linewidths=0)
left.scatter(*models[4].landmarks_.T, color="black", s=12, marker="s")
left.set(title="100 landmarks for 8,000 rows", xticks=[], yticks=[])
right.plot(counts, [100 * model.score(X_test, y_test) for model in models], "o-")
right.set(title="accuracy on new rows [%]", xlabel="landmarks", xscale="log")
plt.show()
