"""
Losses between classes
======================

The task is to predict from ten measurements how far a disease has progressed after a year, in four grades. Being one
grade off costs 1, two grades 2, and so on, which makes a loss matrix. The structured machine minimizes an upper bound
on these losses. Compared with the same machine with equal losses, it is right as often and hardly ever far off. Grades
are quartiles of scikit-learn's diabetes data, and predictions come from ten-fold cross-validation.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import scale

from polymargin import StructuredSVC

X, progress = load_diabetes(return_X_y=True)
X, y = scale(X), np.searchsorted(np.quantile(progress, (0.25, 0.5, 0.75)), progress)
grades = np.arange(4)
losses = np.abs(grades[:, None] - grades).astype(float)

figure, panels = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
names = ("equal losses", "losses by distance")
for k, (name, matrix) in enumerate(zip(names, (None, losses), strict=True)):
    predicted = cross_val_predict(StructuredSVC(C=0.1, loss_matrix=matrix), X, y, cv=10)
    counts = confusion_matrix(y, predicted)
    panels[k].imshow(counts, cmap="Oranges", vmax=80)
    for i, j in np.ndindex(counts.shape):
        panels[k].text(j, i, counts[i, j], ha="center", va="center", color="white" if counts[i, j] > 60 else "black")
    panels[k].set(title=f"{name}: mean loss {losses[y, predicted].mean():.2f}", xlabel="predicted", ylabel="grade")
    panels[k].set(xticks=grades, yticks=grades)
    far = np.bincount(np.abs(y - predicted), minlength=4)
    panels[2].bar(grades + 0.4 * k - 0.2, far, width=0.38, label=name, color=("#8fb8de", "#e08a3c")[k])
    print(f"{name}: {far[0]} right, {far[1]} off by one, {far[2]} by two, {far[3]} by three")
panels[2].set(title="how far off", xlabel="grades", ylabel="patients", xticks=grades, ylim=(0, 270))
panels[2].legend()
plt.show()
