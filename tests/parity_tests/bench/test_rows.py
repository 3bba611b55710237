"""Counts of the benchmark's rows, each contestant in a process of its own; never their times."""

import functools

import jax.numpy as jnp
import pytest

import engine
from parity_tests.bench import runner
from parity_tests.bench.pool import Pool
from parity_tests.bench.rows import (
    ROWS,
    closures,
    devices,
    equal_arrays,
    first_call,
    one_buffer,
    peak_memory,
    preamble_choice,
    steady_call,
    threads,
)
from reports.rows.bench import CONTESTANTS, BenchTurn, Sample

pytestmark = pytest.mark.deep


@pytest.fixture(scope="module")
def pools():
    """Every row once on each contestant; in one process each, as memory is not looked at here."""
    found = {number: Pool(number) for number in ROWS}
    turns = [BenchTurn(contestant=each, rows=tuple(ROWS), size="quick") for each in CONTESTANTS]
    for contestant, taken in zip(CONTESTANTS, runner.ask_for(turns), strict=True):
        for pool in found.values():
            pool.add(contestant, taken.samples)
    return found


@pytest.fixture(scope="module")
def lines(pools):
    return [line for number, row in ROWS.items() for line in row.judge(pools[number])]


def figures(lines, row, what):
    return {
        (line.case, line.contestant): (line.value, line.outcome)
        for line in lines
        if (line.row, line.what) == (row, what)
    }


def test_a_second_call_enters_no_python(lines):
    found = figures(lines, 1, steady_call.FRAMES)
    ways = ("jitted function", "jitted method", "several signatures", "Compiled")
    for side in ("legacy", "simplified"):
        assert {found[way, side] for way in ways} == {(0, "met")}
    # Stock JAX's own `jax.stages.Compiled.__call__` is a Python function (jax 0.10.2).
    notes = [line.note for line in lines if line.case == "Compiled"]
    assert notes == ["jax-legacy: 1", "jax-simplified: 1"]


def test_one_array_is_one_const_arg_and_stock_jax_passes_more(lines, pools):
    found = figures(lines, 3, one_buffer.CONST_ARGS)
    assert len(found) == 3
    assert set(found.values()) == {(1, "met")}
    stock = [
        pools[3].of(case, one_buffer.CONST_ARGS, "jax-simplified").tolist() for case, _ in found
    ]
    assert stock == [[2], [2], [3]]


def test_three_executables_share_the_buffers(lines):
    unique = 2 * 4 * one_buffer.ELEMENTS["quick"]
    case = one_buffer.EXECUTABLES
    buffers = figures(lines, 3, one_buffer.BYTES)
    assert buffers[case, "simplified"] == (unique, "met")
    assert buffers[case, "jax-simplified"] == (2 * unique, None)  # the NumPy array three times
    inlined = figures(lines, 3, one_buffer.INLINED)
    assert inlined[case, "simplified"] == (0, "met")
    assert inlined[case, "legacy"] == inlined[case, "jax-legacy"] == (3 * unique, None)


def test_closures_over_other_values_compile_once(lines, pools):
    found = figures(lines, 5, closures.COMPILATIONS)
    assert len(found) == 2
    assert set(found.values()) == {(1, "met")}
    every = closures.CLOSURES["quick"]
    for case, _ in found:
        counts = {
            each: pools[5].of(case, closures.COMPILATIONS, each).tolist() for each in CONTESTANTS
        }
        assert counts == {
            "legacy": [every],
            "simplified": [1],
            "jax-legacy": [every],
            "jax-simplified": [every],
            "manual": [1],
        }


def test_another_process_finds_its_closures_in_a_persistent_cache(lines, pools):
    found = figures(lines, 5, closures.MISSES)
    assert len(found) == 2
    assert set(found.values()) == {(0, "met")}
    every = closures.CLOSURES["quick"]
    for case, _ in found:
        misses = {each: pools[5].of(case, closures.MISSES, each).tolist() for each in CONTESTANTS}
        inlined, hoisted = [every], [0]
        assert misses == {
            "legacy": inlined,
            "simplified": hoisted,
            "jax-legacy": inlined,
            "jax-simplified": hoisted,
            "manual": hoisted,
        }


def test_equal_arrays_are_one_where_they_are_shared_by_value(lines):
    shared, apart = ((case, "simplified") for case in (equal_arrays.SHARED, equal_arrays.APART))
    nbytes = 4 * equal_arrays.ELEMENTS["quick"]
    assert figures(lines, 4, equal_arrays.CONST_ARGS)[shared] == (1, "met")
    buffers = figures(lines, 4, equal_arrays.BYTES)
    assert buffers == {shared: (nbytes, "met"), apart: (4 * nbytes, None)}


def test_each_shard_of_a_captured_array_is_on_its_device_once(lines):
    nbytes = devices.ARRAYS * 4 * devices.LENGTH["quick"]
    assert figures(lines, 13, devices.BYTES) == {
        ("8 sharded arrays", "simplified"): (nbytes, "met")
    }


def test_auto_leaves_the_corpus_alone_and_stays_within_its_budget(lines):
    assert figures(lines, 8, preamble_choice.CHANGED) == {
        (preamble_choice.AUTO, "simplified"): (0, "met")
    }
    too_large, just_small_enough = preamble_choice.GROWS
    assert figures(lines, 8, preamble_choice.EXTRA) == {
        (too_large, "simplified"): (0, "met"),
        (just_small_enough, "simplified"): (2**20, "met"),
    }


def test_every_row_has_lines_and_every_target_a_contestant_of_ours(lines):
    assert {line.row for line in lines} == set(ROWS)
    assert {line.contestant for line in lines if line.target} == {"legacy", "simplified"}
    one_sample = [line for line in lines if line.kind in ("ratio", "exponent") and line.target]
    assert {line.outcome for line in one_sample} == {"inconclusive"}


TIMES_OF_ALL = (
    (1, steady_call.CALL),
    (2, first_call.STAGES),
    (5, closures.LOOP),
    (12, threads.CALL),
    (13, devices.CALL),
)


def test_times_are_positive_and_peaks_are_there(pools):
    for contestant in CONTESTANTS:
        for row, what in TIMES_OF_ALL:
            for case in pools[row].cases(what):
                assert pools[row].of(case, what, contestant).min() > 0
    [case] = pools[6].cases(peak_memory.PEAK)
    assert case == "a constant of 16.0 KiB"


def test_the_programs_have_as_many_equations_and_constants_as_they_say():
    jaxpr = engine.make_jaxpr(
        functools.partial(first_call.chain(40), steady_call.constants(7)), constants="legacy"
    )(jnp.ones(16))
    assert (len(jaxpr.eqns), len(jaxpr.consts)) == (40, 7)


def test_a_peak_of_nothing_meets_no_target():
    found = Pool(6)
    for contestant in CONTESTANTS:
        for value in (0.0, *[4096.0] * 7):
            sample = Sample(row=6, case="c", what=peak_memory.PEAK, unit="bytes", value=value)
            found.add(contestant, [sample])
    assert {(line.kind, line.outcome) for line in peak_memory.judge(found)} == {("bytes", None)}
