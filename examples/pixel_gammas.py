"""
One gamma per pixel
===================

Which pixels tell digits apart? A radius-margin criterion tunes one gamma for each of 64 pixels by gradient. Left: the
gammas as an image. Right: the test error of a machine that sees only the best pixels, ranked by gamma, by Fisher's
score or at random. See Wang, Xue and Chan (2008), figures 9 and 10; here with the digits that come with scikit-learn.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from polymargin import PairwiseSVC, RadiusMarginSearch, fisher_score

COUNTS = (4, 8, 12, 16, 24, 32, 48, 64)
X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X / 8 - 1, y, train_size=300, stratify=y, random_state=0)
search = RadiusMarginSearch(PairwiseSVC(), criterion="I", kernel="ellipsoidal", cv=None, refit=False).fit(X, y)


def error(kept):
    """The test error of one-versus-one on these pixels."""
    return 1 - PairwiseSVC(C=10).fit(X[:, kept], y).score(X_test[:, kept], y_test)


orders = {
    "gammas of criterion I": search.get_support(64, indices=True),
    "Fisher score": np.argsort(-fisher_score(X, y), kind="stable"),
    "chance": np.random.default_rng(0).permutation(64),
}
errors = {name: [error(order[:k]) for k in COUNTS] for name, order in orders.items()}

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
figure.colorbar(left.imshow(search.feature_weights_.reshape(8, 8), cmap="gray"), ax=left)
left.set(title="gamma of each pixel", xticks=[], yticks=[])
for (name, values), style in zip(errors.items(), ("o-", "s--", "^:"), strict=True):
    right.plot(COUNTS, values, style, label=name, markersize=4)
right.set(xlabel="pixels", ylabel="test error", title="the best pixels", ylim=(0, None))
right.legend()
plt.show()
