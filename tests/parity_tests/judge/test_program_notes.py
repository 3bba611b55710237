"""What stands beside a verdict is said once for all sides, and decides nothing."""

from parity_tests.judge.findings import Findings, notes
from reports.rows import Check, Observation

LOST = Check(name="flag flips", holds=True, measured=False, statement="it raised ValueError: no")


def seen(side, **fields):
    return Observation(program="p", side=side, **fields)


def test_a_lost_check_is_said_of_its_side_and_a_change_once_for_all():
    changed = {"changed_process": ("the program closes stdout",)}
    findings = Findings(
        observed=(seen("legacy", checks=(LOST,), **changed), seen("jax-legacy", **changed)),
        no_hazards="it raised ValueError: no",
    )
    assert notes(findings) == (
        "legacy: the check 'flag flips' was not made: it raised ValueError: no",
        "the program closes stdout; other programs ran in other processes",
        "the hazards of the flip were not detected, for which the program is traced in "
        "simplified form: it raised ValueError: no",
    )


def test_there_is_nothing_to_say_of_most_programs():
    assert notes(Findings(observed=(seen("legacy"), seen("jax-legacy")))) == ()
