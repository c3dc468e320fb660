"""
Nine machines on the same rows
==============================

Here are nine ways to learn four overlapping classes in one problem, with the accuracy on new rows. Most machines draw
nearly the same boundaries. Scatter only asks a class to beat the mean of all classes, which two overlapping classes
can both do. Here that costs it a point or two, and in more dimensions much more; a fit that runs into this warns you.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from polymargin import JointSVC

MACHINES = ("crammer-singer", "kesler", "ovr", "llw", "adm", "ats", "atm", "reinforced", "scatter")
CENTERS = [(-1.2, 0), (0.4, 0.9), (0.6, -0.9), (1.8, 0.4)]
X, y = make_blobs(240, centers=CENTERS, cluster_std=0.6, random_state=3)
X_test, y_test = make_blobs(8_000, centers=CENTERS, cluster_std=0.6, random_state=4)
axis = np.linspace(-3.2, 3.8, 250)
Z = np.column_stack([part.ravel() for part in np.meshgrid(axis, axis - 0.3)])

figure, panels = plt.subplots(3, 3, figsize=(9, 9), layout="constrained")
for panel, machine in zip(panels.flat, MACHINES, strict=True):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scatter, where classes overlap
        model = JointSVC(machine, C=3, gamma=0.5).fit(X, y)
    regions = model.predict(Z).reshape(250, 250)
    panel.imshow(regions, origin="lower", extent=[-3.2, 3.8, -3.5, 3.5], cmap="Set3", vmin=0, vmax=11, alpha=0.8)
    panel.scatter(*X.T, c=np.array(["#2b8c7e", "#8c8a1f", "#5b4fa0", "#b03a2e"])[y], s=7, linewidths=0)
    panel.set(xticks=[], yticks=[], title=f"{machine}: {model.score(X_test, y_test):.1%}")
plt.show()
