"""What of a diagnosis is wrong for the user, each planted once."""

import pytest

from parity_tests.diagnosis.diagnose import ChangedName, Diagnosis, SideShown, problems
from parity_tests.processes.side_environment import refusal_of

WELL = Diagnosis(
    sides=(
        SideShown(side="legacy", holds=True, shown="1 captured array, no const args"),
        SideShown(side="jax-simplified", holds=True, shown="2 const args"),
    ),
    names_looked_at=2,
)


def wrong(found, engine_error="", names_error=""):
    return [
        (each.what, each.to_do)
        for each in problems(found, engine_error=engine_error, names_error=names_error)
    ]


def finding(what):
    return ChangedName(name="jax._src.pjit._infer_params", what=what, text="JAX has no such name")


def test_all_is_well():
    assert wrong(WELL) == []


def test_a_new_optional_parameter_is_no_problem():
    assert wrong(WELL.model_copy(update={"names": (finding("extended"),)})) == []


@pytest.mark.parametrize("what", ["gone", "changed"])
def test_a_private_name_that_is_gone_or_changed(what):
    [(said, to_do)] = wrong(WELL.model_copy(update={"names": (finding(what),)}))
    assert said == "1 private name of JAX that constparity rests on gone or changed"
    assert "install another release of jax" in to_do


def test_a_jax_that_the_engine_refuses():
    """Private names that differ are then no problem of their own."""
    found = WELL.model_copy(
        update={"engine_refuses": refusal_of("0.99.0"), "names": (finding("gone"),)}
    )
    [(said, to_do)] = wrong(found, engine_error="jax 0.99.0 is refused")
    assert said.startswith("constparity's engine reads private parts")
    assert said.endswith("this is jax 0.99.0")
    assert "constparity run --sides jax-legacy,jax-simplified" in to_do
    assert "pip install 'jax>=" in to_do
    assert "doctor" not in to_do  # which the user has just called


def test_an_engine_that_is_not_imported():
    [(said, to_do)] = wrong(WELL, engine_error="cannot import name 'planted'")
    assert said == "`import engine` raises: cannot import name 'planted'"
    assert to_do.startswith("report it")
    [(_, to_do)] = wrong(WELL, engine_error="the variable CONSTPARITY_X must be True or False")
    assert to_do == "set that variable to one of these"


def test_private_names_that_could_not_be_looked_at():
    [(said, _)] = wrong(WELL, names_error="NameError: planted")
    assert said == "no private name was looked at: NameError: planted"


def test_a_side_that_does_not_produce_its_form():
    sides = (
        SideShown(side="legacy", holds=False, shown="not legacy: 1 const arg"),
        SideShown(side="jax-simplified", holds=False, shown="fails in lower: TypeError: planted"),
    )
    ours, stock = wrong(WELL.model_copy(update={"sides": sides}))
    assert ours[0] == "legacy not legacy: 1 const arg"
    assert ours[1].startswith("report it")
    assert stock[0] == "jax-simplified fails in lower: TypeError: planted"
    assert stock[1].startswith("the fault is in this release of jax")
