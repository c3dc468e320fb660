"""
One-versus-one against joint
============================

The plot shows the accuracy of one-versus-one, one-versus-rest and a joint machine for different kernel widths, on 400
digits, by five-fold cross-validation that shares all kernel values, each at the better of two values of C. Near the
best width they differ by at most four rows: joint training by itself hardly changes the accuracy, but it gives one
score per class.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from polymargin import JointSVC, KernelSearchCV, OneVsRestSVC, PairwiseSVC

X, y = load_digits(return_X_y=True)
X, y = X[:400] / 16, y[:400]
gammas = np.geomspace(0.003, 1, 7)
machines = {"one-versus-one": PairwiseSVC(), "one-versus-rest": OneVsRestSVC(), "crammer-singer": JointSVC()}

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for (name, machine), marker in zip(machines.items(), "os^", strict=True):
    search = KernelSearchCV(machine, C=[1, 10], gamma=gammas, cv=5).fit(X, y)
    at = np.array([params["gamma"] for params in search.cv_results_["params"]])
    scores = search.cv_results_["mean_test_score"]
    left.plot(gammas, [scores[at == gamma].max() for gamma in gammas], marker + "-", label=name, markersize=5)
    model = search.best_estimator_
    right.barh(name, len(model.support_), color="#8fb8de")
    right.text(len(model.support_), name, f" {search.best_score_:.1%} ", ha="right", va="center")
    print(f"{name}: {search.best_score_:.3f} at C = {model.C:g} and gamma = {model.gamma:.2g}")
left.set(xscale="log", xlabel="gamma", title="accuracy in cross-validation", ylim=(0.9, 1.0))
left.legend()
right.set(title="support vectors and accuracy of the best", xlabel=f"of {len(y)} rows")
plt.show()
