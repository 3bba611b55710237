"""What a program is compared by: evidence of its sides that is whole, and hazards, asked again."""

from dataclasses import dataclass

import pytest

from parity_tests.evidence.found import HazardsFound
from parity_tests.evidence.records import Recorded
from parity_tests.run import comparing
from parity_tests.run.asking_for_hazards import hazards_told
from reports.rows import Failure, Hazard, MeasuredWith, Observation

HAZARD = Hazard(
    kind="captured and donated", file="m.py", line=3, array="a", what="it fails", fix="copy"
)
READ = Hazard(kind="reads the flag", file="m.py", line=9, array="a", what="it reads", fix="do not")
LOST = Failure(kind="timeout", stage="trace", type="TimeLimit", message="too long")
RAISED = Failure(kind="exception", stage="build", type="IndexError", message="none")
AFTER = "jax-simplified"


@dataclass
class Record:
    """What a side left: the parts of `Recorded` that hazards are read off."""

    observation: Observation
    found: HazardsFound

    def hazards(self):
        return self.found


def found(before, after, told, answer=None):
    """The hazards of a program with these failures, and what the other process was asked."""
    asked = []

    def ask(reads):
        asked.append(reads)
        return answer or HazardsFound(hazards=(READ,))

    sides = {"jax-legacy": (before, HazardsFound()), AFTER: (after, told)}
    records = {
        side: Record(Observation(program="p", side=side, failure=failure), of_side)
        for side, (failure, of_side) in sides.items()
    }
    return hazards_told(records, AFTER, ask), asked


NOTHING = HazardsFound()
AGAIN = HazardsFound(not_detected="IndexError: none", again=True)


@pytest.mark.parametrize(
    ("before", "after", "told", "hazards", "asked"),
    [
        (None, None, HazardsFound(hazards=(HAZARD,)), (HAZARD,), []),
        (None, LOST, NOTHING, (READ,), [""]),  # its reads may say why
        (LOST, LOST, NOTHING, (), []),  # it takes too long by itself
        (None, RAISED, AGAIN, (READ,), [""]),
        (RAISED, RAISED, AGAIN, (), []),
    ],
)
def test_another_process_is_asked_where_the_program_works_before_the_flip(
    before, after, told, hazards, asked
):
    result, was_asked = found(before, after, told)
    assert (result.hazards, was_asked) == (hazards, asked)


def test_what_was_found_stays_where_the_process_that_is_asked_is_lost():
    told = HazardsFound(hazards=(HAZARD,), again=True)
    result, _ = found(None, None, told, HazardsFound(not_detected="signal SIGABRT"))
    assert (result.hazards, result.not_detected) == ((HAZARD,), "signal SIGABRT")


def test_a_program_that_fails_by_itself_has_its_failure_to_say_why():
    result, _ = found(RAISED, RAISED, AGAIN)
    assert result.not_detected == ""


def recorded(side, jax):
    measured_with = jax and MeasuredWith(python="3.11.7", jax=jax, jaxlib=jax, backend="cpu")
    return Recorded(Observation(program="p", side=side, measured_with=measured_with))


def missing(*versions):
    sides = ("jax-legacy", "jax-simplified")
    records = {side: recorded(side, jax) for side, jax in zip(sides, versions, strict=True)}
    return comparing._load(records, sides)[1]


def test_sides_that_ran_on_other_versions_are_not_compared():
    said = missing("0.10.2", "0.12.0")
    assert said.startswith("its sides were not measured with the same: ")
    assert "jax-legacy with jax 0.10.2, jaxlib 0.10.2, Python 3.11.7, backend cpu; " in said
    assert said.endswith(
        "jax-simplified with jax 0.12.0, jaxlib 0.12.0, Python 3.11.7, backend cpu"
    )


def test_sides_that_ran_on_one_version_are():
    assert missing("0.10.2", "0.10.2") == ""
    assert missing("0.10.2", None) == ""  # lost before it told
