"""What model files hold of a structured machine."""

from ..files.kinds import FiniteArray, Labels, NumberList
from ..files.records import COUNT, INPUT, REPORT

STRUCTURED = {
    **INPUT,
    "classes_": (Labels("T"),),
    "coef_": (FiniteArray(("T", "d")),),
    "intercept_": (FiniteArray(("T",)),),
    "loss_matrix_": (FiniteArray(("T", "T"), least=0.0),),
    "n_cuts_": (COUNT,),
    "gap_path_": (NumberList(),),
    **{name: rule for name, rule in REPORT.items() if name not in ("kkt_violation_", "n_kernel_evals_")},
}
