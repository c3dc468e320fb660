"""
A million rows
==============

Ten Gaussian classes, up to a million rows. Left: all of them, in the first two of five features, and the core vectors
(white) that make up the machine. Right: the number of core vectors grows far more slowly than the number of rows, so
most of the time goes into passes over all rows, and the total is nearly proportional to their number. Every fit ends
with a certified gap within 5%.
"""

from time import process_time

import matplotlib.pyplot as plt
import numpy as np

from polymargin import CoreVectorSVC
from polymargin.datasets import make_gaussians

sizes = (10_000, 30_000, 100_000, 300_000, 1_000_000)
X, y = make_gaussians(max(sizes), random_state=0)
X_test, y_test = make_gaussians(20_000, random_state=1)
counts, seconds = [], []
for n in sizes:
    start = process_time()
    model = CoreVectorSVC(C=10, gamma=0.1, tol=0.05).fit(X[:n], y[:n])
    seconds.append(process_time() - start)
    counts.append(len(model.support_))
    gap, right = model.duality_gap_, model.score(X_test, y_test)
    print(f"{n:9,} rows: {counts[-1]:4} core vectors, gap {gap:.2%}, {right:.2%} of new rows are right")

figure, (left, panel) = plt.subplots(1, 2, figsize=(10.5, 4.6), layout="constrained", width_ratios=[1.1, 1])
edges = [np.linspace(*np.quantile(X[:, k], [0, 1]), 301) for k in (1, 0)]
image = np.zeros((300, 300, 3))
for c, color in enumerate(plt.cm.tab10.colors):
    rows = np.histogram2d(X[y == c, 1], X[y == c, 0], edges)[0]
    image += np.sqrt(rows / rows.max())[..., None] * color
left.imshow(image.clip(0, 1), origin="lower", extent=[*edges[1][[0, -1]], *edges[0][[0, -1]]], aspect="auto")
left.scatter(*model.support_vectors_[:, :2].T, color="white", s=3, linewidths=0)
left.set(title=f"{n:,} rows, {counts[-1]} core vectors", xticks=[], yticks=[])
panel.loglog(sizes, counts, "s-", label="core vectors")
panel.loglog(sizes, seconds, "o-", label="processor seconds to train")
panel.set(xlabel="rows")
panel.legend()
plt.show()
