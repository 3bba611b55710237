"""The law that the flag may flip catches the same faults where the other form is only lowered."""

import catching
import pytest
from planting import MUTANTS

from parity_tests.observe import calls, measure
from parity_tests.targets import load_one
from reports.rows.check_names import FLIPS, SETTINGS

OF_FLIPS = [each for each in MUTANTS.values() if each.metric in (FLIPS, SETTINGS)]


def taken(program, flips):
    observation = measure.measure(
        load_one(f"{catching.FILE}:{program}"), "legacy", flips=flips
    ).observation
    assert observation.failure is None, observation.failure
    return {each.name: each for each in observation.checks}


@pytest.mark.parametrize("mutant", OF_FLIPS, ids=lambda each: each.name)
def test_a_planted_fault_is_caught(mutant):
    assert len(OF_FLIPS) >= 3
    with mutant.plant():
        found = taken(mutant.program, "lowered")[mutant.metric]
    assert not found.holds
    assert mutant.says in found.statement


def test_the_other_form_is_compiled_only_where_it_is_called():
    compiled = {}
    for flips in ("called", "lowered"):
        with calls.work_of_jax() as work:
            check = taken("uses_table", flips)[FLIPS]
        assert check.holds, check.statement
        assert ("not called" in check.statement) == (flips == "lowered")
        compiled[flips] = work["compilation"]
    assert compiled["lowered"] < compiled["called"]


def test_of_the_first_program_alone_means_none_where_it_is_another():
    assert FLIPS not in taken("uses_table", "first")
