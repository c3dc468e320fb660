"""
Class prototypes
================

Every class has a prototype, the weighted mean of its support vectors (circles), and the scatter machine pushes the
prototypes (squares) away from their mean. Left: three classes in the plane with the linear kernel. Right: four classes
on a line with the RBF kernel, whose feature space is projected onto the plane in which the prototypes differ most. See
Jenssen et al. (2012), figures 1 to 4.
"""

import matplotlib.pyplot as plt
import numpy as np

from polymargin import JointSVC, PrototypeDisplay


def clouds(centers, seed, n=40):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(centers)), n)
    return np.asarray(centers, float)[y] + 0.45 * rng.normal(size=(len(y), 2)), y


figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
X, y = clouds([(0, 0), (3, 0), (1.5, 2.6)], seed=0)
model = JointSVC("scatter", kernel="linear", nu=0.05, intercept="exact").fit(X, y)
plane = PrototypeDisplay.from_estimator(model, X, y, ax=left)
left.set_title("linear kernel")

X, y = clouds([(-3, 0), (-1, 0), (1, 0), (3, 0)], seed=1)
model = JointSVC("scatter", nu=0.05, gamma=0.5).fit(X, y)
line = PrototypeDisplay.from_estimator(model, X, y, ax=right)
right.set_title("RBF kernel, four classes that lie on a line")
plt.show()
