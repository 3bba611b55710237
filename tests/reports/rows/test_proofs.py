"""What `constparity prove` says of one program, by its claims."""

import pytest

from reports.rows.claims import Claim
from reports.rows.proofs import CONTRADICTION, ProgramProof, reasons_of


@pytest.mark.parametrize(
    ("jaxpr", "decides", "module", "is_told"),
    [
        ("proved", True, "parted", True),
        ("proved", True, "refuted", True),
        ("proved", True, "undecided", False),
        ("proved", True, "proved", False),
        ("parted", True, "parted", False),
        ("proved", False, "parted", False),  # our sides plan after the jaxpr
    ],
)
def test_two_numberings_that_contradict_each_other_are_told(jaxpr, decides, module, is_told):
    claims = (
        Claim(of="jaxpr", answer=jaxpr, decides=decides),
        Claim(of="module", answer=module, reason="the numbers differ"),
    )
    program = ProgramProof(answer=module, claims=claims)
    assert (CONTRADICTION in reasons_of(program)) == is_told
