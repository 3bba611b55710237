"""What `constparity prove` says of one program, by its claims."""

import pytest

from reports.rows.claims import Claim
from reports.rows.proofs import CONTRADICTION, ProgramProof, headline_of, reasons_of


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


def test_what_is_proved_for_a_platform_is_as_it_is_traced_here():
    def program(*platforms):
        modules = (Claim(of="module", platform=each, answer="proved") for each in platforms)
        return ProgramProof(answer="proved", claims=(Claim(of="jaxpr", answer="proved"), *modules))

    assert headline_of([program("")]) == "proof: 1 of 1 programs proved"
    assert headline_of([program("cuda", "tpu"), program("cuda", "tpu")]) == (
        "proof: 2 of 2 programs proved for cuda and tpu, as traced here"
    )


def test_what_is_proved_and_has_no_module_is_counted_apart():
    jaxpr, module = Claim(of="jaxpr", answer="proved"), Claim(of="module", answer="proved")
    alone = module.model_copy(update={"answer": "undecided", "reason": "it cannot be lowered"})
    programs = [ProgramProof(answer="proved", claims=(jaxpr, each)) for each in (module, alone)]
    assert headline_of(programs) == ("proof: 2 of 2 programs proved; 1 of these by jaxprs alone")
