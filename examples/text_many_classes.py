"""
Texts of many classes
=====================

The data are a sparse matrix of word counts: 6,000 short texts on 50 subjects, with 8,000 words, most of them rare. A
linear Crammer-Singer machine trains in weight space. Left: which subjects are confused with each other; they come in
groups of five that share words. Right: how the accuracy grows with the number of rows.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import confusion_matrix

from polymargin import JointSVC

SUBJECTS, WORDS, LENGTH = 50, 8_000, 40
rng = np.random.default_rng(0)
common = 1 / np.arange(1, WORDS + 1)  # Zipf's law


def texts(n, rng):
    """Most words are common ones, the others those of the subject or of its group of five."""
    y = rng.integers(0, SUBJECTS, n)
    words = rng.choice(WORDS, size=(n, LENGTH), p=common / common.sum())
    own = rng.random((n, LENGTH))
    at = rng.integers(0, 120, (n, LENGTH))
    words = np.where(own < 0.12, 1_000 + 120 * y[:, None] + at, words)
    words = np.where((own >= 0.12) & (own < 0.4), 7_000 + 100 * (y[:, None] // 5) + at % 100, words)
    X = sp.csr_array((np.ones(n * LENGTH), (np.repeat(np.arange(n), LENGTH), words.ravel())), shape=(n, WORDS))
    X.sum_duplicates()
    return X, y


X, y = texts(6_000, rng)
X_test, y_test = texts(3_000, rng)
weights = TfidfTransformer(sublinear_tf=True).fit(X)
X, X_test = weights.transform(X), weights.transform(X_test)
sizes = (250, 500, 1_000, 2_000, 4_000, 6_000)
models = [JointSVC(kernel="linear", C=1, tol=1e-2).fit(X[:n], y[:n]) for n in sizes]
print(f"{models[-1].status_}, weights {models[-1].coef_.shape}, {models[-1].n_kernel_evals_} kernel values")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
left.imshow(np.sqrt(confusion_matrix(y_test, models[-1].predict(X_test))), cmap="magma")
left.set(title="3,000 new texts, square root of counts", xlabel="predicted", ylabel="subject")
right.plot(sizes, [model.score(X_test, y_test) for model in models], "o-")
right.set(title="accuracy on new texts", xlabel="texts to train on", ylim=(0, 1))
plt.show()
