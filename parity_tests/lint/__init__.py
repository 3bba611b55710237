"""Lint: finds code that will see the flip of JAX's captured arrays, without running anything.

`run.py` has the steps; each function of `rules/` is one rule. Nothing here imports JAX or the code
that it reads.
"""
