"""Which pixels tell digits apart? One gamma per pixel by a radius-margin criterion, and the error with the best pixels.

Wang, Xue and Chan's figures 9 and 10, on scikit-learn's digits of 8 x 8 pixels: the gammas as a picture, and the test
error of a machine that sees only the best k pixels by them, by Fisher's score and by chance.

    python examples/pixel_gammas.py
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from polymargin import PairwiseSVC, RadiusMarginSearch, fisher_score

COUNTS = (4, 8, 12, 16, 24, 32, 48, 64)


def error(kept, X, X_test, y, y_test):
    """The test error of one-versus-one on these pixels."""
    return 1 - PairwiseSVC(C=10).fit(X[:, kept], y).score(X_test[:, kept], y_test)


def main(out="pixel_gammas.png", n_rows=600):
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X / 8 - 1, y, train_size=n_rows, stratify=y, random_state=0)
    search = RadiusMarginSearch(PairwiseSVC(), criterion="I", kernel="ellipsoidal", cv=None, refit=False).fit(X, y)
    orders = {
        "gammas of criterion I": search.get_support(64, indices=True),
        "Fisher score": np.argsort(-fisher_score(X, y), kind="stable"),
        "chance": np.random.default_rng(0).permutation(64),
    }
    errors = {name: [error(order[:k], X, X_test, y, y_test) for k in COUNTS] for name, order in orders.items()}
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    figure.colorbar(left.imshow(search.feature_weights_.reshape(8, 8), cmap="gray"), ax=left)
    left.set(title="gamma of each pixel", xticks=[], yticks=[])
    for (name, values), style in zip(errors.items(), ("o-", "s--", "^:"), strict=True):
        right.plot(COUNTS, values, style, label=name, markersize=4)
    right.set(xlabel="pixels", ylabel="test error", title="the best pixels")
    right.legend()
    figure.savefig(out, dpi=80)
    for name, values in errors.items():
        print(f"{name}: " + ", ".join(f"{k} pixels {e:.3f}" for k, e in zip(COUNTS, values, strict=True)))
    return search, errors, figure


if __name__ == "__main__":
    main()
