"""
A core set grows
================

The data are ten Gaussian classes with 20,000 rows. The core vector machine solves its problem on a small working set,
looks for rows that violate their margins, adds them and solves again, until a pass over all rows certifies the gap.
Left: the first two features. The core vectors (black) lie where classes meet or end. Right: the number of core vectors
from round to round, and what share of all rows that is. See Asharaf et al. (2007).
"""

import matplotlib.pyplot as plt

from polymargin import CoreVectorSVC
from polymargin.datasets import make_gaussians

X, y = make_gaussians(20_000, random_state=0)
X_test, y_test = make_gaussians(20_000, random_state=1)
model = CoreVectorSVC(C=10, gamma=0.1, tol=0.02).fit(X, y)
print(f"{model.status_}: {len(model.support_)} of {len(y):,} rows are core vectors, gap {model.duality_gap_:.2%}")
print(f"accuracy on new rows {model.score(X_test, y_test):.2%}")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.scatter(*X[:, :2].T, c=y, cmap="tab10", s=2, alpha=0.3, linewidths=0)
left.scatter(*model.support_vectors_[:, :2].T, color="black", s=6, linewidths=0, label="core vectors")
left.set(title="two of five features", xticks=[], yticks=[])
left.legend()
right.plot(model.core_size_path_, "o-", markersize=3)
right.set(title="the core set", xlabel="round", ylabel="rows", ylim=(0, None))
plt.show()
