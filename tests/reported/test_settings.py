"""What a module sets is for its own programs: not for the tester's work, nor for other modules."""

import pytest
from program_files import line_with, program_file

from parity_tests.run import run
from parity_tests.run.options import CampaignOptions
from parity_tests.run.selection import Selection
from reports.rows import fail_rules

FOLDER = program_file("reported/settings/strict").parent


@pytest.fixture(scope="module")
def result():
    options = CampaignOptions(
        sides=("jax-legacy", "jax-simplified"),
        select=Selection(expression="not adds_to_rows"),
    )
    return run.run([str(FOLDER)], options)


@pytest.fixture
def rows(result):
    return {row.name: row for row in result.programs}


def test_a_module_is_imported_without_the_settings_of_another(rows):
    assert [*rows] == [
        str(FOLDER / "raises.py"),
        "captures",
        "donates_a_nan",
        "captures_numpy",
        "captures_what_was_moved",
    ]  # weak.py would be there, as raises.py is, if it had not been imported


@pytest.mark.parametrize("name", ["captures", "donates_a_nan", "captures_what_was_moved"])
def test_programs_that_stock_jax_runs_with_its_flag_off_and_on_are_safe(rows, name):
    row = rows[name]
    assert (row.verdict, row.flip.outcome) == ("parity", "safe")
    assert [each.name for side in row.observations for each in side.checks if not each.holds] == []


def test_a_forbidden_transfer_of_a_captured_array_is_a_hazard_with_its_line_and_fix(rows):
    row = rows["captures_numpy"]
    [reason] = [each for each in row.flip.reasons if each.kind == "failure"]
    assert (row.flip.outcome, reason.action) == (
        "different",
        "capture jax.device_put(a), made before the trace",
    )
    line = line_with(program_file("reported/settings/strict"), "return x + on_host")
    assert reason.where.endswith(f"strict.py:{line} (NumPy array float32[64])")
    assert "Disallowed host-to-device transfer" in reason.what


def test_a_file_that_cannot_be_imported_is_one_program_that_was_not_compared(result, rows):
    name = str(FOLDER / "raises.py")
    [reason] = rows[name].reasons
    line = line_with(program_file("reported/settings/raises"), "no licence")
    assert reason.startswith(f"importing {name} raised ValueError: no licence (")
    assert reason.endswith(f"raises.py:{line})")
    broken = fail_rules.broken(result, fail_rules.DEFAULT_RULES)
    assert [(each.rule.name, each.programs, each.status) for each in broken] == [
        ("new-failure", ("captures_numpy",), "difference"),
        ("not-compared", (name,), "could not compare"),
    ]
