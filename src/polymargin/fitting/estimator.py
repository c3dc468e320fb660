"""What every estimator of this library is: scikit-learn's, with a link to its own page on the site in its picture."""

from __future__ import annotations

from sklearn.base import BaseEstimator

SITE = "https://polymargin.github.io/polymargin"


class Estimator(BaseEstimator):
    _doc_link_module = "polymargin"
    _doc_link_template = SITE + "/api/polymargin.{name}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {"name": type(self).__name__}
