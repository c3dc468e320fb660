"""
A million rows
==============

The data are ten well separated Gaussian classes with up to a million rows. The number of core vectors grows far more
slowly than the number of rows, so most of the time goes into passes over all rows, and the total is nearly proportional
to their number. Every fit ends with a certified gap within 5 %.
"""

from time import process_time

import matplotlib.pyplot as plt

from polymargin import CoreVectorSVC
from polymargin.datasets import make_gaussians

sizes = (10_000, 30_000, 100_000, 300_000, 1_000_000)
X, y = make_gaussians(max(sizes), random_state=0)
X_test, y_test = make_gaussians(20_000, random_state=1)
models, seconds = [], []
for n in sizes:
    start = process_time()
    models.append(CoreVectorSVC(C=10, gamma=0.1, tol=0.05).fit(X[:n], y[:n]))
    seconds.append(process_time() - start)

figure, panels = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
columns = {
    "processor seconds to train": seconds,
    "core vectors": [len(model.support_) for model in models],
    "accuracy on new rows [%]": [100 * model.score(X_test, y_test) for model in models],
}
for panel, (name, values) in zip(panels, columns.items(), strict=True):
    panel.plot(sizes, values, "o-")
    panel.set(title=name, xlabel="rows", xscale="log")
panels[0].set(yscale="log")
panels[1].set(ylim=(0, None))
panels[2].set(ylim=(95, 100))
for n, model in zip(sizes, models, strict=True):
    print(f"{n:9,} rows: {len(model.support_):4} core vectors, gap {model.duality_gap_:.2%}, {model.status_}")
plt.show()
