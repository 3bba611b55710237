"""A program that ran with other settings than it has by itself is not said to be compared."""

import pytest
from program_files import program_file

from parity_tests.evidence.saved import Saved
from parity_tests.run import run
from parity_tests.run.compare_saved import compare
from parity_tests.run.options import CampaignOptions
from parity_tests.run.proving import prove, prove_first
from reports.rows import answer_of

SIDES = ("jax-legacy", "jax-simplified")
OPTIONS = CampaignOptions(sides=SIDES, steady_calls=0)
VARIABLE = "XLA_FLAGS='--xla_force_host_platform_device_count=3'"


@pytest.fixture(autouse=True)
def one_device(monkeypatch):
    monkeypatch.delenv("XLA_FLAGS", raising=False)


def rows(name):
    return run.run([str(program_file(f"trust/{name}"))], OPTIONS).programs


@pytest.fixture(scope="module")
def live():
    """The programs whose import sets flags too late."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("XLA_FLAGS", raising=False)
        return rows("sets_devices")


def test_flags_that_an_import_sets_too_late_are_told_with_what_to_do(live):
    for row in live:
        first = row.flip.reasons[0]
        assert (answer_of(row.flip), row.verdict) == ("not known", "could not compare")
        assert first.what.endswith(
            "constparity starts JAX before the import: run by itself, it has 3 devices (here 1), "
            "it has --xla_force_host_platform_device_count=3 in XLA_FLAGS"
        )
        assert first.action == f"set it before the start, then compare again: {VARIABLE} " + (
            f"constparity run {program_file('trust/sets_devices')}"
        )
        assert row.reasons[0] == first.what
        assert "today" not in " ".join(each.what for each in row.flip.reasons)


def test_what_is_proved_with_other_settings_has_a_reservation(tmp_path):
    target = f"{program_file('trust/sets_devices')}:works_with_one"
    [proved] = prove([target], OPTIONS).programs
    assert proved.answer == "proved"
    assert "run by itself, it has 3 devices (here 1)" in proved.reservations[-1]
    assert VARIABLE in proved.reservations[-1]
    assert not prove_first([target], OPTIONS, tmp_path).rows


def test_with_the_variable_set_the_programs_are_compared(monkeypatch, tmp_path):
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=3")
    found = {row.name: answer_of(row.flip) for row in rows("sets_devices")}
    assert found == {"wants_three_devices": "yes", "works_with_one": "yes"}
    target = f"{program_file('trust/sets_devices')}:works_with_one"
    assert prove_first([target], OPTIONS, tmp_path).rows.keys() == {target}


def test_an_import_that_raises_because_jax_has_started_is_told(monkeypatch):
    [row] = rows("sets_numbers_of_devices")
    first = row.flip.reasons[0]
    assert "run by itself, it is imported (here it is not), it has 3 devices" in first.what
    file = program_file("trust/sets_numbers_of_devices")
    assert first.action.endswith(f"JAX_NUM_CPU_DEVICES='3' constparity run {file}")
    monkeypatch.setenv("JAX_NUM_CPU_DEVICES", "3")
    [row] = rows("sets_numbers_of_devices")
    assert answer_of(row.flip) == "yes"


def test_a_variable_that_is_set_in_vain_by_itself_as_well_raises_no_alarm():
    [row] = rows("sets_in_vain")
    assert (answer_of(row.flip), row.verdict) == ("yes", "parity")


def test_saved_results_are_judged_as_a_live_run(live, tmp_path):
    halves = []
    for side in SIDES:
        halves.append(tmp_path / f"{side}.json")
        half = OPTIONS.model_copy(update={"sides": (side,), "save": halves[-1]})
        run.run([str(program_file("trust/sets_devices"))], half)
    compared = compare(*map(Saved.read, halves))
    found = {row.name: (row.verdict, row.reasons[0], row.flip) for row in compared.programs}
    assert found == {row.name: (row.verdict, row.reasons[0], row.flip) for row in live}
    assert {each[0] for each in found.values()} == {"could not compare"}
