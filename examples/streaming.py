"""
Rows that come one after the other
==================================

``partial_fit`` keeps the core set and forgets all other rows. New rows that violate their margins are added, and the
problem is solved again. Left: the accuracy on new rows after every batch, compared with a machine that has seen all
batches at once. Right: how many of the rows it has seen it keeps.
"""

import matplotlib.pyplot as plt
import numpy as np

from polymargin import CoreVectorSVC
from polymargin.datasets import make_gaussians

X, y = make_gaussians(20_000, random_state=0)
X_test, y_test = make_gaussians(10_000, random_state=1)
stream = CoreVectorSVC(C=10, gamma=0.1, tol=0.02)
seen, kept, accuracy = [], [], []
for batch in np.split(np.arange(len(y)), np.geomspace(30, len(y), 25).astype(int)[:-1]):
    stream.partial_fit(X[batch], y[batch], classes=np.arange(10))
    seen.append(batch[-1] + 1)
    kept.append(len(stream.support_))
    accuracy.append(100 * stream.score(X_test, y_test))
whole = CoreVectorSVC(C=10, gamma=0.1, tol=0.02).fit(X, y)
print(f"after the last batch {accuracy[-1]:.2f}%, all rows at once {100 * whole.score(X_test, y_test):.2f}%")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
left.plot(seen, accuracy, label="batch after batch")
left.axhline(100 * whole.score(X_test, y_test), color="gray", linestyle="--", label="all rows at once")
left.set(title="accuracy on new rows [%]", xlabel="rows seen", xscale="log")
left.legend()
right.plot(seen, kept, color="tab:orange")
right.axhline(len(whole.support_), color="gray", linestyle="--", label="all rows at once")
right.set(title="rows kept", xlabel="rows seen", xscale="log", ylim=(0, None))
right.legend()
plt.show()
