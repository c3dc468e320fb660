"""
Mistakes that cost more
=======================

There are three kinds of cells, and missing a sick one costs ten times as much as any other mistake. Weights on the rows
of a class move its boundary outward: more healthy cells are called sick, but fewer sick ones are missed.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.datasets import make_blobs

from polymargin import JointSVC

CENTERS, SPREAD = [(0, 0), (2.2, 0), (1.1, 1.6)], 0.75
X, y = make_blobs([300, 300, 100], centers=CENTERS, cluster_std=SPREAD, random_state=0)
X_test, y_test = make_blobs([3_000, 3_000, 1_000], centers=CENTERS, cluster_std=SPREAD, random_state=1)
costs = np.ones((3, 3)) - np.eye(3)
costs[2] = (10, 10, 0)  # class 2 is sick

axis = np.linspace(-2.5, 4.5, 300)
Z = np.column_stack([part.ravel() for part in np.meshgrid(axis, axis)])
figure, panels = plt.subplots(1, 3, figsize=(11, 4.4), layout="constrained")
for panel, weight in zip(panels, (1, 3, 10), strict=True):
    model = JointSVC(C=1, gamma=0.5, class_weight={0: 1, 1: 1, 2: weight}).fit(X, y)
    predicted = model.predict(X_test)
    missed, cost = (predicted[y_test == 2] != 2).mean(), costs[y_test, predicted].mean()
    regions = model.predict(Z).reshape(300, 300)
    panel.imshow(
        regions, origin="lower", extent=[-2.5, 4.5] * 2, cmap=ListedColormap(["#cfe3f5", "#d9ecd3", "#f6cfcf"])
    )
    panel.scatter(*X.T, c=np.array(["#1f4e79", "#2f6b2a", "#b0001e"])[y], s=6, linewidths=0)
    panel.set(title=f"weight {weight}: {missed:.0%} of the sick missed,\nmean cost {cost:.2f}")
    panel.set(xticks=[], yticks=[], xlim=(-2.5, 4.5), ylim=(-2.5, 4.5))
    print(f"weight {weight:2}: accuracy {(predicted == y_test).mean():.3f}, mean cost {cost:.3f}")
plt.show()
