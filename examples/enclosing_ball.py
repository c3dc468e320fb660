"""
The ball of a core set
======================

A few rows are enough to find the smallest ball around all of them: add the row farthest from the center of the current
ball, find the exact ball around the rows added so far, and stop when that ball, expanded by 1 + epsilon (dashed),
covers all rows. The dotted circle is the exact ball around all rows. Core vector machines do this in the feature space
of a kernel. See Asharaf et al. (2007), figure 1.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Circle

from polymargin import EnclosingBall

EPSILON = 0.05
X = np.random.default_rng(7).normal(size=(60, 2))
exact = EnclosingBall(kernel="linear", tol=1e-8).fit(X)
core, rounds = [0], []
while True:
    ball = EnclosingBall(kernel="linear", tol=1e-8).fit(X[core])
    center = ball.dual_coef_ @ ball.support_vectors_
    distance = np.linalg.norm(X - center, axis=1)
    rounds.append((list(core), center, ball.radius_))
    if distance.max() <= (1 + EPSILON) * ball.radius_:
        break
    core.append(int(distance.argmax()))
print(f"{len(core)} core vectors; radius {ball.radius_:.4f}, exact {exact.radius_:.4f}")

figure, panels = plt.subplots(1, len(rounds), figsize=(3.2 * len(rounds), 3.6), layout="constrained")
middle = exact.dual_coef_ @ exact.support_vectors_
for panel, (taken, center, radius) in zip(panels, rounds, strict=True):
    panel.plot(*X.T, ".", color="0.55", markersize=4)
    panel.plot(*X[taken].T, "s", mfc="none", ms=9, color="#d55e00")
    panel.add_patch(Circle(middle, exact.radius_, fill=False, ls=":", color="0.4"))
    panel.add_patch(Circle(center, radius, fill=False, color="#0072b2"))
    panel.add_patch(Circle(center, (1 + EPSILON) * radius, fill=False, ls="--", color="#0072b2"))
    panel.set(aspect="equal", xlim=(-3.4, 3.4), ylim=(-3.4, 3.4), xticks=[], yticks=[])
    panel.set_title(f"{len(taken)} row{'s' * (len(taken) > 1)}, radius {radius:.2f}")
plt.show()
