"""What the defaults are worth: python -m benchmarks.defaults [names...]

Cross-validated accuracy in percent (five folds, of sets below 1,000 rows twice) at C = 1 on standardized columns,
linear and RBF, of scikit-learn's SVC alone and one-versus-rest, our two reductions, and three joint machines with each
of their intercepts. Sets: scikit-learn's own, or names of `polymargin.datasets`, up to 1,500 rows each.
"""

import argparse
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from polymargin import JointSVC, OneVsRestSVC, PairwiseSVC
from polymargin.datasets import load
from polymargin.machines import MACHINES

OWN = {"iris": load_iris, "wine": load_wine, "digits": load_digits, "cancer": load_breast_cancer}
JOINT = ("crammer-singer", "kesler", "scatter")


def rows(name):
    if name in OWN:
        return OWN[name](return_X_y=True)
    D = load(name)
    some = np.random.default_rng(0).permutation(len(D.y_train))[:1500]
    X, y = np.asarray(D.X_train[some], dtype=float), D.y_train[some]
    labels, counts = np.unique(y, return_counts=True)
    frequent = np.isin(y, labels[counts >= 5])
    return X[frequent], y[frequent]


def entries(kernel):
    yield "SVC", SVC(kernel=kernel)
    yield "SVC, one-versus-rest", OneVsRestClassifier(SVC(kernel=kernel))
    yield "PairwiseSVC", PairwiseSVC(kernel=kernel)
    yield "OneVsRestSVC", OneVsRestSVC(kernel=kernel)
    for machine in JOINT:
        for intercept in MACHINES[machine].intercepts:
            auto = " (auto)" if intercept == MACHINES[machine].auto_intercept(kernel) else ""
            model = JointSVC(machine, intercept=intercept, kernel=kernel, time_limit=20)
            yield f"{machine}, {intercept}{auto}", model


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(OWN))
    warnings.simplefilter("ignore")  # overlap and time limits are part of what is measured
    for name in parser.parse_args().names:
        X, y = rows(name)
        folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2 if len(y) < 1000 else 1, random_state=0)
        for kernel in ("linear", "rbf"):
            for label, model in entries(kernel):
                score = cross_val_score(make_pipeline(StandardScaler(), model), X, y, cv=folds).mean()
                print(f"{name:12} {kernel:7} {label:34} {100 * score:5.1f}", flush=True)


if __name__ == "__main__":
    main()
