"""Figure 1 of the core vector paper: the ball around the core set, and its (1 + epsilon) expansion around all rows.

    python examples/enclosing_ball.py [figure.png]

The dotted circle is the exact ball of all rows. The core set (squares) has a smaller one, which covers all rows when it
is expanded by 1 + epsilon. Needs matplotlib.
"""

import sys

from polymargin.papers.core_vector import draw_balls


def main(path="enclosing_ball.png"):
    figure = draw_balls()
    print(figure.axes[0].get_title())
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:])
