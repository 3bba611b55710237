"""Which libraries an expression has fetched, and which words are refused before any is."""

import pytest

from parity_tests.campaign.selecting import check_expression, with_libraries_taken
from parity_tests.campaign.spec import CorpusSpec, LibrarySpec, Spec, SpecError

NAMES = ("chex", "dm-haiku", "numpyro", "rlax")
MODELS = CorpusSpec(name="models", targets=("models.py",))


def spec(corpus=()):
    return Spec(library=tuple(LibrarySpec(name=each, version="1") for each in NAMES), corpus=corpus)


@pytest.mark.parametrize(
    ("expression", "taken"),
    [
        ("", NAMES),
        ("rlax", ("rlax",)),
        ("RLAX", ("rlax",)),
        ("haiku", ("dm-haiku",)),
        ("numpyro and handlers", ("numpyro",)),
        ("rlax and relax", ("rlax",)),
        ("rlax/test_relax", ("rlax",)),
        ("(rlax or chex) and not slow", ("chex", "rlax")),
        ("not rlax", ("chex", "dm-haiku", "numpyro")),
        ("models", ()),
        ("models or chex", ("chex",)),
    ],
)
def test_only_libraries_that_an_expression_can_be_true_of_are_fetched(expression, taken):
    said = []
    given = spec((MODELS,))
    check_expression(given, expression)
    found = with_libraries_taken(given, expression, said.append)
    assert tuple(each.name for each in found.library) == taken
    assert found.corpus == (MODELS,)
    assert said == []


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        (
            "handlers",
            "'handlers' names no library, so all 4 are fetched to look for programs of that name: "
            "chex, dm-haiku, numpyro, rlax",
        ),
        (
            "check or slow",
            "'check' and 'slow' name no library, so all 4 are fetched to look for programs of "
            "these names: chex, dm-haiku, numpyro, rlax (the nearest name is chex)",
        ),
        (
            "handlers and not rlax",
            "'handlers' names no library, so 3 of 4 are fetched to look for programs of that name: "
            "chex, dm-haiku, numpyro",
        ),
    ],
)
def test_it_says_which_libraries_are_fetched_for_their_programs(expression, said):
    lines = []
    check_expression(spec(), expression)
    with_libraries_taken(spec(), expression, lines.append)
    assert lines == [said]


@pytest.mark.parametrize("expression", ["numpryo", "not numpryo", "rlax or numpryo", "NUMPRYO"])
def test_a_word_that_is_nearly_the_name_of_a_library_is_refused(expression):
    with pytest.raises(SpecError, match=r"'numpryo': did you mean numpyro\? For programs of that"):
        check_expression(spec(), expression)


def test_an_expression_that_no_library_can_meet_is_refused():
    with pytest.raises(SpecError, match=r"no program, corpus or tag .* 'rlax and chex'"):
        check_expression(spec(), "rlax and chex")
    check_expression(spec((MODELS,)), "rlax and chex")  # a name of its programs may have both
