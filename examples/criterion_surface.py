"""
A criterion with a slope
========================

Left: radius-margin criterion I over C and gamma for the wine data, and the path of the search along its gradient.
Right: the five-fold cross-validation error, which a grid search would compute everywhere. The path takes only a few
evaluations and ends where the error is small. See Wang, Xue and Chan (2008), figure 2.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.preprocessing import minmax_scale

from polymargin import CriterionDisplay, PairwiseSVC, RadiusMarginSearch

X, y = load_wine(return_X_y=True)
X = minmax_scale(X, (-1, 1))  # the criterion needs features of one scale
search = RadiusMarginSearch(PairwiseSVC(), criterion="I").fit(X, y)
display = CriterionDisplay.from_search(search, X, y, cv=5)
best = search.best_params_
print(f"{search.n_evaluations_} evaluations to C = {best['C']:.2f}, gamma = {best['gamma']:.3f}")
plt.show()
