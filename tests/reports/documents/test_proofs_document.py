"""The document of proofs: what each program comes to, in a few words and in the first line."""

import built_suites as built
import pytest

from parity_tests.suites.messages import summary_lines
from reports.documents.proofs import state_of
from reports.rows.flip import Hazard
from reports.rows.proofs import ProgramProof, headline_of

HAZARD = Hazard(
    kind="captured and donated", what="it is donated", array="float32[3]", file="m.py", line=3,
    fix="copy it",
)  # fmt: skip


@pytest.mark.parametrize(
    ("given", "state", "told"),
    [
        ({}, "proved", ""),
        ({"hazards": (HAZARD,)}, "proved, may still break", "; 1 of these may still break"),
        ({"reservations": ("a derivative",)}, "proved in part", "; 1 of these in part"),
        (
            {"hazards": (HAZARD,), "reservations": ("a derivative",)},
            "proved in part, may still break",
            "; 1 of these may still break; 1 of these in part",
        ),
    ],
)
def test_what_is_not_proved_is_told_apart_from_what_may_break(given, state, told):
    proof = ProgramProof(answer="proved", **given)
    assert state_of(proof) == state
    head = f"proof: 1 of 1 programs proved{told}"
    assert headline_of([proof]) == head
    of_suite = [*summary_lines(built.result(built.program(rung=None, proof=proof), mode="prove"))]
    assert of_suite[0] == head
    assert given == {} or any(line.startswith(f"{state}: `step`") for line in of_suite)
