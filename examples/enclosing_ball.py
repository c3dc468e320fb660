"""
The ball of a core set
======================

The dotted circle is the exact smallest ball around all rows. The core set (squares) has a smaller one, which covers all
rows when it is expanded by 1 + epsilon: a few rows stand for all. Asharaf et al. (2007), figure 1.
"""

import matplotlib.pyplot as plt

from polymargin.papers.core_vector import draw_balls

figure = draw_balls()
print(figure.axes[0].get_title())
plt.show()
