"""From a row of the machines' table to prototypes: one variable per row, margins per row and class, weight space.

What every joint estimator trains with, and what a fitted one is. May use fitting and files.
"""
