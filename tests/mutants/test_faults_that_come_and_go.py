"""Faults of the engine that change from run to run are laid to the engine, and not to the program.

Stock JAX is measured in a process of its own, our side in this one. A run of ours in a fresh
process is one before which no other program has run.
"""

import itertools
from dataclasses import replace

import catching
import numpy as np
import pytest
from planting import replaced

from engine.runtime import execution
from parity_tests.evidence.records import Evidence
from parity_tests.judge.comparison import compare_pairs
from parity_tests.judge.findings import Findings
from parity_tests.judge.repetition import Runs, judge_runs
from parity_tests.judge.verdict import RowDraft, conclude
from parity_tests.observe import measure
from parity_tests.processes.options import RunOptions
from parity_tests.processes.protocol import Job
from parity_tests.processes.side_runs import run_sides
from parity_tests.targets import load_one
from reports.rows import NamedProgram, agreement_of
from reports.rows.fail_rules import DEFAULT_RULES

PAIR = ("simplified", "jax-simplified")
PROGRAM = f"{catching.FILE}:uses_table"
CALLS = itertools.count(1)


@pytest.fixture(scope="module")
def stock(tmp_path_factory):
    """Four runs of stock JAX, in one process."""
    jobs = [Job(number=n, name="uses_table", target=PROGRAM) for n in range(4)]
    folder = tmp_path_factory.mktemp("stock")
    recorded = run_sides(jobs, PAIR[1:], folder, RunOptions(timeout=60.0, steady_calls=0))
    first, again, *alone = (recorded[n, PAIR[1]].evidence() for n in range(4))
    return Runs(first, again, tuple(alone))


def of_the_program_before():
    """Each program is called with the const args of the program that was called before it."""
    stock, placed_of = execution.place, {}

    def place(executable, const_args):
        placed = stock(executable, const_args)
        program = tuple(float(np.sum(each)) for each in placed)
        placed_of.setdefault(program, placed)
        number = list(placed_of).index(program)
        before = list(placed_of.values())[max(number - 1, 0)]
        return before[-len(placed) :]

    return replaced(stock, place)


def wrong_when_called():
    """Const args are right when a program is lowered, and in each call half as large again."""
    stock = execution.place

    def place(executable, const_args):
        factor = 1.5 ** next(CALLS)
        return tuple(each * factor for each in stock(executable, const_args))

    return replaced(stock, place)


def measured(*targets):
    """Measure programs one after the other on our side; the last one is returned."""
    for each in targets:
        found = measure.measure(load_one(each), PAIR[0])
    return Evidence(found.observation, found.values, found.jaxpr)


@pytest.mark.parametrize("fault", [of_the_program_before, wrong_when_called])
def test_a_fault_of_ours_that_comes_and_goes_is_told_as_ours(fault, stock):
    with fault():
        first = measured(f"{catching.FILE}:two_tables", PROGRAM)
    runs = []
    for _ in range(3):
        with fault():
            runs.append(measured(PROGRAM))
    ours = Runs(first, runs[0], tuple(runs[1:]))
    observed = (ours.first.observation, stock.first.observation)
    findings = Findings(observed, compare_pairs([(ours.first, stock.first)]))
    finding = judge_runs(findings, PAIR, ours, stock, "model.py:9")
    found = conclude(replace(findings, not_repeatable=finding), [PAIR])
    assert found.verdict == "difference"
    assert found.reasons[0] == (
        "simplified is at fault, and not the program: in a second run the only output is another, "
        "though no argument, captured array or equation is, and jax-simplified repeats itself "
        "(model.py:9): report it to constparity with this program; jax-simplified says what the "
        "program does"
    )
    named = NamedProgram(name="uses_table", source="model.py:9", summary="")
    row = RowDraft(named, findings).row(found)
    assert agreement_of(row) == "differ"
    assert [rule.name for rule in DEFAULT_RULES if rule.is_broken_by(row)] == ["different"]


def test_a_program_that_chance_changes_on_stock_jax_too_is_no_fault_of_ours(stock):
    with wrong_when_called():
        ours = Runs(measured(PROGRAM), measured(PROGRAM), (measured(PROGRAM), measured(PROGRAM)))
    # Stock JAX by chance as well: it gives what ours gave.
    one, other = (
        replace(stock.first, outputs=each.outputs) for each in (ours.again, *ours.alone[:1])
    )
    findings = Findings(
        (ours.first.observation, one.observation), compare_pairs([(ours.first, one)])
    )
    finding = judge_runs(findings, PAIR, ours, Runs(one, other, (one, other)), "model.py:9")
    assert (finding.is_ours, finding.side) == (False, "simplified")
