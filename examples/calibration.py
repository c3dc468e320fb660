"""
Probabilities that mean what they say
=====================================

When a model is 80% sure, it should be right 80% of the time. AutoSVC turns the values of its pairs into
probabilities, using held-out rows. The plot compares it with Platt's method around the same machine, on four classes
that overlap so much that nobody could be certain.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_blobs
from sklearn.metrics import log_loss

from polymargin import AutoSVC, PairwiseSVC

X, y = make_blobs(6_000, centers=[(0, 0), (1.6, 0.4), (0.4, 1.6), (2, 2)], cluster_std=0.8, random_state=0)
train, test = slice(0, 1_000), slice(1_000, None)
models = {
    "AutoSVC": AutoSVC(random_state=0).fit(X[train], y[train]),
    "one-versus-one + Platt": CalibratedClassifierCV(PairwiseSVC(), method="sigmoid", cv=5).fit(X[train], y[train]),
}

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
edges = np.linspace(0.25, 1.0, 11)
left.plot([0.25, 1], [0.25, 1], color="gray", linestyle=":")
for name, model in models.items():
    P = model.predict_proba(X[test])
    sure, right_rows = P.max(axis=1), P.argmax(axis=1) == y[test]
    bins = np.digitize(sure, edges[1:-1])
    filled = [k for k in range(10) if (bins == k).sum() >= 30]
    middle = [sure[bins == k].mean() for k in filled]
    left.plot(middle, [right_rows[bins == k].mean() for k in filled], "o-", label=name)
    print(f"{name}: accuracy {right_rows.mean():.3f}, log loss {log_loss(y[test], P):.3f}")
left.set(xlabel="probability of the predicted class", ylabel="share that is right", title="5,000 new rows")
left.legend()

axis = np.linspace(-2.5, 4.5, 200)
Z = np.column_stack([part.ravel() for part in np.meshgrid(axis, axis)])
sure = models["AutoSVC"].predict_proba(Z).max(axis=1).reshape(200, 200)
image = right.imshow(sure, origin="lower", extent=[-2.5, 4.5] * 2, cmap="viridis", vmin=0.25, vmax=1)
right.scatter(*X[train].T, c=y[train], cmap="tab10", vmax=9, s=9, edgecolors="white", linewidths=0.3)
right.set(title="how sure AutoSVC is", xticks=[], yticks=[], xlim=(-2.5, 4.5), ylim=(-2.5, 4.5))
figure.colorbar(image, ax=right)
plt.show()
