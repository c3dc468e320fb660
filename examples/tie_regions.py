"""
Where votes are tied
====================

Five classes in the plane. Left: in scikit-learn's SVC ten pairwise machines vote. Where the two best classes have the
same number of votes (hatched), the class that is listed first wins. Right: a joint machine has one score per class, so
two classes are tied only on the boundary between them. The clouds and the seed were chosen to show a tied region of
some size; with other draws it is smaller or larger.
"""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.svm import SVC

from polymargin import JointSVC

COLORS = ListedColormap(["#8fb8de", "#f2b880", "#a8cf9f", "#d9a3b8", "#c3b1e1"])
DARK = np.array(["#1f4e79", "#a85b00", "#2f6b2a", "#8a2f55", "#55408c"])
SIDE, STEPS = 2.1, 500

# Clouds on a circle, stretched like the blades of a fan.
rng = np.random.default_rng(2)
angle = 2 * np.pi * np.arange(5) / 5 + 0.3
y = np.repeat(np.arange(5), 30)
center = np.column_stack([np.cos(angle), np.sin(angle)])[y]
along = np.column_stack([-np.sin(angle + 0.6), np.cos(angle + 0.6)])[y]
X = center + 0.15 * rng.standard_normal((150, 2)) + 0.6 * rng.standard_normal((150, 1)) * along

pairs = SVC(gamma=1.0, decision_function_shape="ovo").fit(X, y)
joint = JointSVC("kesler", C=0.5, gamma=1.0).fit(X, y)  # two classes: the binary machine at 2C

axis = np.linspace(-SIDE, SIDE, STEPS)
Z = np.column_stack([part.ravel() for part in np.meshgrid(axis, axis)])
votes = np.zeros((len(Z), 5), int)
for value, (a, b) in zip(pairs.decision_function(Z).T, combinations(range(5), 2), strict=True):
    votes[np.arange(len(Z)), np.where(value > 0, a, b)] += 1
votes.sort(axis=1)
tied = (votes[:, -1] == votes[:, -2]).reshape(STEPS, STEPS)

figure, panels = plt.subplots(1, 2, figsize=(8, 4.2), layout="constrained")
for panel, model in zip(panels, (pairs, joint), strict=True):
    regions = model.predict(Z).reshape(STEPS, STEPS)
    panel.imshow(regions, origin="lower", extent=[-SIDE, SIDE] * 2, cmap=COLORS, alpha=0.75)
    panel.scatter(*X.T, c=DARK[y], s=7, linewidths=0, zorder=3)
    panel.set(xticks=[], yticks=[])
panels[0].contourf(axis, axis, tied, levels=[0.5, 1.5], colors="white")
panels[0].contourf(axis, axis, tied, levels=[0.5, 1.5], colors="none", hatches=["////"])
panels[0].set_title(f"one-versus-one: {100 * tied.mean():.1f}% of the square is tied", fontsize=10)
panels[1].set_title("joint (kesler): every point has a winner", fontsize=10)
print(f"accuracy on these rows: {pairs.score(X, y):.3f} and {joint.score(X, y):.3f}")
plt.show()
