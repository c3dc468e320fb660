"""
Supervised Isomap, and its control
==================================

Handwritten digits in the plane. The map knows the labels of its training rows and separates *any* labels there, even
shuffled ones, so a picture of training rows proves nothing. What counts is where held-out rows land, because the map
never sees their labels. Top: real labels. Bottom: shuffled labels. After Silva and Ribeiro (2009).
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from polymargin import EmbeddingDisplay, SupervisedIsomap

X, y = load_digits(return_X_y=True)
X = X / 4  # the larger the unit, the more labels count: without it even shuffled ones fall into dots
train, test = slice(0, 800), slice(800, 1400)
display = EmbeddingDisplay.from_permuted(SupervisedIsomap(), X[train], y[train], X[test], y[test])
for labels, (fitted, held_out) in display.accuracies_.items():
    print(f"{labels} labels: the nearest training row has the right one for {fitted:.0%} of the rows that the map was")
    print(f"fitted to, and for {held_out:.0%} of held-out rows")
plt.show()
