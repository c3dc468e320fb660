"""Handwritten digits before and after supervised Isomap, and the control with shuffled labels: two pictures."""

from sklearn.datasets import load_digits

from polymargin import EmbeddingDisplay, SupervisedIsomap

X, y = load_digits(return_X_y=True)
X = X / 16
train, test = slice(0, 1000), slice(1000, None)

model = SupervisedIsomap(n_components=3).fit(X[train], y[train])
print(f"residual variance {model.residual_variance_:.3f}, trustworthiness {model.trustworthiness_:.3f}")
display = EmbeddingDisplay.from_estimator(model, X[train], y[train], X_test=X[test], y_test=y[test])
display.figure_.savefig("digits.png", dpi=100)

display = EmbeddingDisplay.from_permuted(SupervisedIsomap(), X[train], y[train], X[test], y[test])
display.figure_.savefig("digits_control.png", dpi=100)
print(display.accuracies_)
