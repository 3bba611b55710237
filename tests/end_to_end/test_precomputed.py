"""Programs of the built-in corpus with all their constant work done once, and without.

CONSTPARITY_WHOLE_CORPUS=1 takes every program where one of six is taken otherwise.
"""

import os

import jax
import numpy as np
import pytest

import engine
from parity_tests import targets
from parity_tests.evidence import tolerance_ladder
from parity_tests.program import Program
from simplified_consts import lowering
from simplified_consts.preamble import extraction

PROGRAMS = [each for each in targets.load(()) if isinstance(each, Program)]
COMPARED = PROGRAMS if os.environ.get("CONSTPARITY_WHOLE_CORPUS") else PROGRAMS[::6]


@pytest.fixture
def extractions(monkeypatch):
    """Let all work be worth a preamble, also broadcasts; what was extracted from each program."""

    def choose_all(graph, *limits):
        computed = [value for operation in graph.operations for value in operation.outputs]
        return [value for value in computed if value in graph.demanded]

    monkeypatch.setattr(extraction, "choose_results", choose_all)
    found = []
    stock = lowering.extract

    def extract(*args, **kwargs):
        found.append(stock(*args, **kwargs))
        return found[-1]

    monkeypatch.setattr(lowering, "extract", extract)
    return found


def outputs(program, precompute):
    fun, args, kwargs = program.build()
    jitted = engine.jit(fun, constants="simplified", precompute_constants=precompute)
    jitted(*args, **kwargs)
    return jax.tree.flatten(jitted(*args, **kwargs))


def plain(leaf):
    """A leaf as NumPy has it, of a typed key its data."""
    if jax.dtypes.issubdtype(getattr(leaf, "dtype", np.float32), jax.dtypes.extended):
        leaf = jax.random.key_data(leaf)
    return np.asarray(leaf)


@pytest.mark.filterwarnings("default")
def test_none_is_worth_a_preamble():
    """They compute in microseconds, so `"auto"` has the executable of `"off"`: it is as fast."""
    for program in PROGRAMS:
        fun, args, kwargs = program.build()
        traced = engine.jit(fun, constants="simplified").trace(*args, **kwargs)
        live = engine.jax_internals.live_part(traced.lojax.jaxpr)
        assert extraction.extract(live, 32) is None, program.name


@pytest.mark.filterwarnings("default")
def test_the_results_are_the_same(extractions):
    mismatches, extracted = [], 0
    for program in COMPARED:
        extractions.clear()
        (ours, tree), (expected, expected_tree) = (outputs(program, p) for p in ("auto", "off"))
        extracted += any(e is not None for e in extractions)
        assert tree == expected_tree, program.name
        for left, right in zip(ours, expected, strict=True):
            if left is not right:
                rung = tolerance_ladder.compare("", plain(left), plain(right)).rung
                if rung not in ("bitwise", "ulp", "tolerance"):
                    mismatches.append((program.name, rung))
                assert getattr(left, "sharding", 0) == getattr(right, "sharding", 0), program.name
    assert mismatches == []
    assert extracted > len(COMPARED) // 3
