"""
A thousand classes
==================

The scatter machine has one variable per row, no matter how many classes there are. Left: a hundred classes on a circle
and their regions. Right: the processor time of training and prediction as the number of classes grows, with five rows
in each class, compared with one-versus-one in scikit-learn. See Jenssen et al. (2012), figure 6 and table 1.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from polymargin import JointSVC
from polymargin.datasets import make_circle

X, y = make_circle(100, per_class=5, random_state=0)
model = JointSVC("scatter", C=10, gamma=1.0).fit(X, y)
axis = np.linspace(-19, 19, 400)
Z = np.column_stack([part.ravel() for part in np.meshgrid(axis, axis)])
ring = np.abs(np.hypot(*Z.T) - 15.9).reshape(400, 400) < 2.5
shuffled = np.random.default_rng(0).permutation(100)
regions = np.where(ring, shuffled[model.predict(Z)].reshape(400, 400), np.nan)


def seconds(machine, n_classes):
    """Processor time to train, and to predict as many new rows."""
    X, y = make_circle(n_classes, per_class=5, random_state=0)
    X_new, y_new = make_circle(n_classes, per_class=5, random_state=1)
    begin = time.process_time()
    score = machine.fit(X, y).score(X_new, y_new)
    return time.process_time() - begin, score


counts = (10, 30, 100, 300, 1000)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
left.imshow(regions, origin="lower", extent=[-19, 19, -19, 19], cmap="prism", alpha=0.7)
left.scatter(*X.T, color="black", s=2)
left.set(title="100 classes, 500 rows", xticks=[], yticks=[])
for name, machine, most in (
    ("scatter", JointSVC("scatter", C=10, gamma=1.0), 1000),
    ("one-versus-one (SVC)", SVC(C=10, gamma=1.0), 300),
):
    found = [seconds(machine, n) for n in counts if n <= most]
    right.plot(counts[: len(found)], [s for s, _ in found], "o-", label=name)
    print(f"{name}: accuracy " + ", ".join(f"{score:.3f}" for _, score in found))
right.set(xscale="log", yscale="log", xlabel="classes", title="processor seconds, fit and predict")
right.legend()
plt.show()
