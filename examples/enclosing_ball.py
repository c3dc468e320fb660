"""Figure 1 of the core vector paper: the ball around the core set, and its (1 + epsilon) expansion around all rows.

    python examples/enclosing_ball.py [figure.png]

The dotted circle is the exact ball of all rows. The core set (squares) has a smaller one, which covers all rows when it
is expanded by 1 + epsilon. Needs matplotlib.
"""

import sys

import numpy as np

from polymargin import EnclosingBall

EPSILON = 0.05


def core_set(X, epsilon):
    """Badoiu and Clarkson's loop as the paper prints it: the farthest row joins until all are covered."""
    core = [0]
    while True:
        ball = EnclosingBall(kernel="linear", tol=1e-8).fit(X[core])
        distance = np.sqrt(-ball.score_samples(X))
        if distance.max() <= (1 + epsilon) * ball.radius_:
            return core, ball
        core.append(int(distance.argmax()))


def circle(ball):
    return ball.dual_coef_ @ ball.support_vectors_, ball.radius_


def main(path="enclosing_ball.png"):
    X = np.random.default_rng(7).normal(size=(60, 2))
    exact = EnclosingBall(kernel="linear", tol=1e-8).fit(X)
    core, inner = core_set(X, EPSILON)
    centre, radius = circle(inner)
    print(f"{len(core)} core vectors, radius {radius:.4f}; exact radius {exact.radius_:.4f}; epsilon {EPSILON}")

    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 5))
    axes.plot(*X.T, ".", color="0.4")
    axes.plot(*X[core].T, "s", mfc="none", ms=10)
    for (c, r), style in (
        (circle(exact), ":"),
        ((centre, radius), "-"),
        ((centre, (1 + EPSILON) * radius), "--"),
    ):
        axes.add_patch(plt.Circle(c, r, fill=False, ls=style))
    axes.set_aspect("equal")
    axes.autoscale_view()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:])
