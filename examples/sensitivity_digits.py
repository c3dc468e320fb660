"""
The pixels that decide
======================

Which pixels separate the digits 0, 1 and 8? Sensitivity maps show mean squared derivatives of scores: of the mean
prototype over all images, and of every class over its own images. The images with the largest weights are the hard
ones; there are few, because most weights are zero. See Jenssen et al. (2012), figures 8, 10 and 21 to 24. With the file
usps.npz in the folder POLYMARGIN_DATA, this uses the paper's 789 images, and otherwise those that come with
scikit-learn.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from polymargin import JointSVC, SensitivityDisplay, SupportVectorDisplay, WeightDisplay

file = Path(os.environ.get("POLYMARGIN_DATA", "")) / "usps.npz"
if file.is_file():
    with np.load(file, allow_pickle=False) as archive:
        X, y = archive["X_test"], archive["y_test"]
else:
    X, y = load_digits(return_X_y=True)
    X = X / 8 - 1
some = np.isin(y, [0, 1, 8])
X, y = X[some], y[some]
shape = (int(np.sqrt(X.shape[1])),) * 2

model = JointSVC("scatter", C=10).fit(X, y)
print(f"{len(y)} images, {len(model.support_)} support vectors, accuracy {model.score(X, y):.4f}")

figure, panels = plt.subplots(1, 4, figsize=(9, 2), layout="constrained")
mean = SensitivityDisplay.from_estimator(model, X, of="mean", image_shape=shape, ax=panels[0])
each = SensitivityDisplay.from_estimator(model, X, y, image_shape=shape, ax=panels[1:])
hardest = SupportVectorDisplay.from_estimator(model, image_shape=shape)
weights = WeightDisplay.from_estimator(model)
plt.show()
