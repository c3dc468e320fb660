"""
A core set grows
================

The data are ten Gaussian classes with 20,000 rows. The core vector machine solves its problem on a small working set,
looks for rows that violate their margins, adds them and solves again, until a pass over all rows certifies the gap.
Black: the first 50 core vectors, the first 210, and all of them, in two of the five features. They lie where classes
meet or end. Bottom right: how many there are from round to round. See Asharaf et al. (2007).
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.exceptions import ConvergenceWarning

from polymargin import CoreVectorSVC
from polymargin.datasets import make_gaussians

X, y = make_gaussians(20_000, random_state=0)
X_test, y_test = make_gaussians(20_000, random_state=1)
model = CoreVectorSVC(C=10, gamma=0.1, tol=0.02, random_state=0).fit(X, y)
print(f"{model.status_}: {len(model.support_)} of {len(y):,} rows are core vectors, gap {model.duality_gap_:.2%}")
print(f"accuracy on new rows {model.score(X_test, y_test):.2%}")

figure, panels = plt.subplots(2, 2, figsize=(9, 7), layout="constrained")
for panel, most in zip(panels.flat, (50, 200, len(model.support_)), strict=False):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # stopped on purpose
        core = CoreVectorSVC(C=10, gamma=0.1, tol=0.02, random_state=0, max_core=most).fit(X, y).support_vectors_
    panel.scatter(*X[:, :2].T, c=y, cmap="tab10", s=2, alpha=0.25, linewidths=0)
    panel.scatter(*core[:, :2].T, color="black", s=10, linewidths=0)
    panel.set(title=f"{len(core)} core vectors", xticks=[], yticks=[])
panels[1, 1].plot(model.core_size_path_, "o-", markersize=4)
panels[1, 1].set(title="the core set", xlabel="round", ylabel="core vectors", ylim=(0, None))
plt.show()
