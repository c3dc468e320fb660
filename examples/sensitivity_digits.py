"""Which pixels decide between the digits 0, 1 and 8? The scatter paper's figures 8, 10, 11 and 21 to 24.

With the USPS digits (the file usps.npz in the folder that POLYMARGIN_DATA names) these are the paper's 789 images of
16 x 16 pixels; without, scikit-learn's digits of 8 x 8 pixels take their place.

    python examples/sensitivity_digits.py
"""

import os
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from polymargin import JointSVC, SensitivityDisplay, SupportVectorDisplay, WeightDisplay


def digits(folder=None):
    """Images of 0, 1 and 8, pixels between -1 and 1, their labels and the shape of an image."""
    file = Path(folder or os.environ.get("POLYMARGIN_DATA", "")) / "usps.npz"
    if file.is_file():
        with np.load(file, allow_pickle=False) as archive:
            X, y = archive["X_test"], archive["y_test"]
    else:
        X, y = load_digits(return_X_y=True)
        X = X / 8 - 1
    some = np.isin(y, [0, 1, 8])
    side = int(np.sqrt(X.shape[1]))
    return X[some], y[some], (side, side)


def main(out="sensitivity_digits.png"):
    X, y, shape = digits()
    model = JointSVC("scatter", C=10).fit(X, y)
    print(f"{len(y)} images, {len(model.support_)} support vectors, accuracy {model.score(X, y):.4f}")
    pictures = {
        "": SensitivityDisplay.from_estimator(model, X, of="mean", image_shape=shape),
        "_classes": SensitivityDisplay.from_estimator(model, X, y, image_shape=shape),
        "_hardest": SupportVectorDisplay.from_estimator(model, image_shape=shape),
        "_easiest": SupportVectorDisplay.from_estimator(model, X, y, which="easiest", image_shape=shape),
        "_weights": WeightDisplay.from_estimator(model),
    }
    for name, display in pictures.items():
        display.figure_.savefig(out.replace(".png", f"{name}.png"))
    return model, pictures


if __name__ == "__main__":
    main()
