"""A check of ours that fails, or takes its process along, is no failure of the side."""

import pytest
from program_files import program_file

from parity_tests.evidence.folder_layout import ProgramFiles
from parity_tests.evidence.found import HazardsFound
from parity_tests.processes.options import Limits
from parity_tests.processes.side_runs import keep_measured
from parity_tests.processes.worker_process import KILLED, Lost
from parity_tests.run import comparing, run
from parity_tests.run.options import CampaignOptions
from reports.rows import Observation, fail_rules
from reports.rows.check_names import AS_WRITTEN

FILE = program_file("trust/fails_in_the_other_form")
SIDES = ("legacy", "jax-legacy", "jax-simplified")


@pytest.fixture(scope="module")
def campaign():
    options = CampaignOptions(sides=SIDES, steady_calls=0, timeout=5, memory_limit=700 * 2**20)
    return run.run([str(FILE)], options)


@pytest.fixture(scope="module")
def rows(campaign):
    return {row.name: row for row in campaign.programs}


FAILURES = {
    "raises": "exception in trace: LookupError: no constvar",
    "exits": "crash in trace: exit status 5: the process ended",
    "ends_at_once": "crash in trace: exit status 6: the process ended",
    "aborts": "crash in trace: signal SIGABRT: the process ended",
    "takes_memory": "memory in trace: MemoryLimit: ",
    "hangs": "timeout in trace: TimeLimit: no result in 5 seconds",
}


@pytest.mark.parametrize("name", FAILURES)
def test_what_fails_in_the_other_form_alone_is_broken_by_the_flip(rows, name):
    row = rows[name]
    reason = row.flip.reasons[0]
    assert (row.flip.outcome, reason.kind) == ("different", "failure")
    what = f"works on jax-legacy and fails on jax-simplified: {FAILURES[name]}"
    assert reason.what.startswith(what)
    failed = [each.side for each in row.observations if each.failure]
    assert failed == ["jax-simplified"]
    for observation in row.observations:
        assert (observation.times is not None) == (observation.side != "jax-simplified")


@pytest.mark.parametrize("name", FAILURES)
def test_the_checks_that_were_lost_are_named(rows, name):
    row = rows[name]
    [compared] = [each for each in row.comparisons if each.metric == "flag flips"]
    assert (compared.outcome, compared.left_value) == ("not compared", "not measured")
    said = [reason for reason in row.reasons if "the check 'flag flips' was not made" in reason]
    assert len(said) == 1
    assert said[0].startswith(f"legacy: the check 'flag flips' was not made: {compared.detail}")
    # What a program that raises or exits had read until then is a hazard, so these were detected.
    detected = name in ("raises", "exits")
    lost = "the hazards of the flip were not detected"
    assert any(lost in each for each in row.reasons) == (not detected)
    assert row.flip.reasons[-1].what.startswith(lost) == (not detected)


def test_what_works_in_both_forms_has_its_checks_and_hazards(rows):
    row = rows["works"]
    assert (row.verdict, row.reasons, row.flip.outcome) == ("parity", (), "safe")
    assert [each.kind for each in row.hazards] == ["writeable NumPy array", "reads jaxpr constants"]


def test_each_alone_exits_with_a_failure(campaign):
    [broken] = fail_rules.broken(campaign, fail_rules.parse("new-failure"))
    assert broken.programs == tuple(FAILURES)


def measured(folder, stage, kind="crash", ending="signal SIGABRT", **given):
    files = ProgramFiles(folder, 0)
    kept = Observation(program="p", side="legacy")
    files.measured.write_text(kept.model_dump_json())
    files.outputs.touch()
    lost = Lost(kind, ending, stage, "")
    return keep_measured(files, lost, hazards=True, first=given.get("first", True))


def test_hazards_are_looked_for_again_where_the_program_may_not_be_to_blame(tmp_path):
    assert not measured(tmp_path, "hazards").hazards().again
    for again, given in (
        (True, {"first": False}),
        (True, {"ending": KILLED}),
        (False, {"first": False, "kind": "timeout", "ending": "no result in 3 seconds"}),
    ):
        ProgramFiles(tmp_path, 0).hazards.unlink()
        found = measured(tmp_path, "hazards", **given).hazards()
        assert found.again == again
        assert found.not_detected.startswith(given.get("ending", "signal SIGABRT"))


def test_a_lost_check_is_named_and_the_rest_of_the_record_stands(tmp_path):
    record = measured(tmp_path, "flag flips")
    [check] = record.observation.checks
    assert (check.name, check.measured) == ("flag flips", False)
    assert record.observation.failure is None
    assert measured(tmp_path, "hazards").observation.checks == ()


def test_a_process_that_is_lost_in_calls_as_written_is_a_call_that_failed(tmp_path):
    record = measured(tmp_path, AS_WRITTEN)
    [call] = record.observation.as_written
    assert (call.failure.kind, call.failure.stage, call.failure.type) == (
        "crash",
        AS_WRITTEN,
        "signal SIGABRT",
    )
    assert record.observation.failure is None


def test_the_limit_of_memory_reaches_the_process_that_looks_for_hazards_alone(monkeypatch):
    seen = []

    def detect_alone(job, folder, limits, reads):
        seen.append(limits)
        return HazardsFound(not_detected="it was not asked")

    monkeypatch.setattr(comparing, "detect_alone", detect_alone)
    options = CampaignOptions(sides=("jax-legacy",), steady_calls=0, memory_limit=2**31)
    [row] = run.run([str(program_file("ends_its_process"))], options).programs
    assert seen == [Limits(options.timeout, 2**31)]
    assert row.reasons == ("jax-legacy: crash in first call: exit status 3: the process ended",)
