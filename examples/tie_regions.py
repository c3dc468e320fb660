"""Where one-versus-one voting cannot decide, and a joint machine can: python examples/tie_regions.py

Five classes in the plane. On the left scikit-learn's SVC: ten pairwise machines vote, and where the two best classes
have the same number of votes the winner is the class that is listed first. On the right a joint machine: one score per
class, so that two classes are level only on the lines between them. The clouds and the seed were picked to show a tied
region of some size; other draws have smaller and larger ones. Writes docs/images/tie-regions.png.
"""

from pathlib import Path

import matplotlib
import numpy as np
from sklearn.svm import SVC

from polymargin import JointSVC

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.colors import ListedColormap

COLORS = ListedColormap(["#8fb8de", "#f2b880", "#a8cf9f", "#d9a3b8", "#c3b1e1"])
DARK = ["#1f4e79", "#a85b00", "#2f6b2a", "#8a2f55", "#55408c"]
SIDE, STEPS = 2.1, 500


def five_classes(seed=2):
    """Clouds on a circle, stretched like the blades of a fan."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(5) / 5 + 0.3
    y = np.repeat(np.arange(5), 30)
    center = np.column_stack([np.cos(angle), np.sin(angle)])[y]
    along = np.column_stack([-np.sin(angle + 0.6), np.cos(angle + 0.6)])[y]
    X = center + 0.15 * rng.standard_normal((len(y), 2)) + 0.6 * rng.standard_normal((len(y), 1)) * along
    return X, y


def votes(svc, Z):
    """Votes of the ten pairwise machines of an SVC, (n, 5)."""
    pairwise, out, k = svc.decision_function(Z), np.zeros((len(Z), 5), int), 0
    for a in range(5):
        for b in range(a + 1, 5):
            out[np.arange(len(Z)), np.where(pairwise[:, k] > 0, a, b)] += 1
            k += 1
    return out


def main():
    X, y = five_classes()
    axis = np.linspace(-SIDE, SIDE, STEPS)
    Z = np.column_stack([part.ravel() for part in np.meshgrid(axis, axis)])
    pairs = SVC(gamma=1.0, decision_function_shape="ovo").fit(X, y)
    joint = JointSVC("kesler", C=0.5, gamma=1.0, n_jobs=1).fit(X, y)  # two classes: the binary machine at 2C
    count = np.sort(votes(pairs, Z), axis=1)
    tied = (count[:, -1] == count[:, -2]).reshape(STEPS, STEPS)
    figure, panels = plt.subplots(1, 2, figsize=(8, 4.2), layout="constrained")
    titles = (
        f"one-versus-one: {100 * tied.mean():.1f} % of the square is tied",
        "joint (kesler): every point has a winner",
    )
    for panel, model, title in zip(panels, (pairs, joint), titles, strict=True):
        regions = model.predict(Z).reshape(STEPS, STEPS)
        panel.imshow(regions, origin="lower", extent=[-SIDE, SIDE] * 2, cmap=COLORS, vmin=0, vmax=4, alpha=0.75)
        if model is pairs:
            panel.contourf(axis, axis, tied, levels=[0.5, 1.5], colors="white")
            panel.contourf(axis, axis, tied, levels=[0.5, 1.5], colors="none", hatches=["////"])
            panel.contour(axis, axis, tied, levels=[0.5], colors="black", linewidths=1)
        panel.scatter(*X.T, c=[DARK[c] for c in y], s=7, linewidths=0)
        panel.set(title=title, xticks=[], yticks=[], xlim=(-SIDE, SIDE), ylim=(-SIDE, SIDE))
        panel.title.set_fontsize(10)
    out = Path(__file__).parents[1] / "docs" / "images" / "tie-regions.png"
    out.parent.mkdir(exist_ok=True)
    figure.savefig(out, dpi=100)
    print(f"{out}: {100 * tied.mean():.1f} % tied, accuracy {pairs.score(X, y):.3f} and {joint.score(X, y):.3f}")


if __name__ == "__main__":
    main()
