"""Class prototypes move away from their mean: the scatter paper's figures 1 to 3.

Left, three classes in the plane under the linear kernel: squares are the prototypes, means of the encircled support
vectors, and the arrows show their scatter around the mean. Right, the same for four classes under the RBF kernel, whose
space is projected to the plane of the prototypes.

    python examples/prototypes.py
"""

import matplotlib.pyplot as plt
import numpy as np

from polymargin import JointSVC, PrototypeDisplay


def clouds(centers, seed, n=40):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(centers)), n)
    return np.asarray(centers, float)[y] + 0.45 * rng.normal(size=(len(y), 2)), y


def main(out="prototypes.png"):
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    X, y = clouds([(0, 0), (3, 0), (1.5, 2.6)], seed=0)
    model = JointSVC("scatter", kernel="linear", nu=0.05, intercept="exact").fit(X, y)
    plane = PrototypeDisplay.from_estimator(model, X, y, ax=left)
    left.set_title("linear kernel")
    X, y = clouds([(-3, 0), (-1, 0), (1, 0), (3, 0)], seed=1)
    line = PrototypeDisplay.from_estimator(JointSVC("scatter", nu=0.05, gamma=0.5).fit(X, y), X, y, ax=right)
    right.set_title("RBF kernel, four classes that lie on a line")
    figure.savefig(out)
    return plane, line


if __name__ == "__main__":
    main()
