"""Benchmarks of polymargin against other libraries: datasets, solvers, objective, run. Not part of the package."""
