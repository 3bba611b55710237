"""Collect garbage whose finalizer calls a program, while the module of another is marked."""

import gc

import numpy as np

import engine
from engine.jax_internals import lowering


class Logs:
    def __del__(self):
        logged.append(float(engine.jit(lambda x: x + table, constants="simplified")(1.0)[0]))


def collect_first(*args):
    lowering.mark_const_args = mark
    cycle = [Logs()]
    cycle.append(cycle)
    del cycle
    gc.collect()
    mark(*args)


logged, table, mark = [], np.ones(64, np.float32), lowering.mark_const_args
lowering.mark_const_args = collect_first
result = engine.jit(lambda x: x * table, constants="simplified")(3.0)
print(float(result[0]), logged)
