"""The frame of every fit: parameters, rows, labels and weights checked, threads and memory budgeted, progress.

Knows kernels by name and nothing of machines; everything else may use it.
"""
