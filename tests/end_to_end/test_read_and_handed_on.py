"""A read that ends the process, or is made in a callback or by a child, is named at its line."""

import pytest
from flipped import answer_and_exit, flipped
from program_files import line_with, program_file

from reports.rows import answer_of

pytestmark = pytest.mark.deep

FILE = program_file("trust/read_and_handed_on")
# Each fails where it is imported, or looks as if it did.
FAILS, ABORTS, LOOKS = (
    program_file(f"trust/{name}_at_import") for name in ("fails", "aborts", "looks")
)


def at(comment, file=FILE):
    return f"tests/programs/trust/{file.name}:{line_with(file, f'# {comment}')}"


CONSTS, MODULE = "evaluate with jax.core.eval_jaxpr", "call the compiled stage"
FLAG, LEAVE = "do not read the flag", "leave JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS out of"

# The place of the first reason, and the beginning of its action.
EXPECTED = {
    "aborts_without_constants": (at("reads before it aborts"), CONSTS),
    "crashes_without_constants": (at("reads before it crashes"), CONSTS),
    "ends_in_the_factory": (at("reads before it ends"), FLAG),
    "hangs_by_the_flag": (at("reads while it hangs"), FLAG),
    "aborts_in_a_callback": (
        at("ends in a callback"),
        f"find out what the read of the flag at {at('reads in a callback')} decides",
    ),
    "calls_an_executable_in_a_callback": (at("takes an executable"), MODULE),
    "compiles_a_module_by_itself": (at("takes a module"), MODULE),
    "asks_a_process": (at("is inherited"), LEAVE),
    "copies_the_environment": (at("is copied"), LEAVE),
    "opens_the_environment": (at("is opened"), LEAVE),
    "goes_through_the_environment": (at("is gone through"), LEAVE),
    "asks_a_shell": (at("is asked"), LEAVE),
    "reads_by_a_private_name": (at("reads by a private name"), FLAG),
    "reads_in_bytes": (at("reads in bytes"), FLAG),
    "reads_in_code_of_a_text": (at("reads in a text"), FLAG),
    "reads_in_a_thread": (at("reads in a thread"), FLAG),
    "copies_the_settings": (at("copies settings"), LEAVE),
    "keeps_what_it_read": (at("reads once"), FLAG),
    "counts_equations": (at("counts equations"), "decide nothing by the number of equations"),
}


@pytest.fixture(scope="module")
def campaign():
    return flipped(FILE, FAILS, ABORTS, LOOKS, timeout=8.0)


@pytest.fixture(scope="module")
def rows(campaign):
    return {row.name: row for row in campaign.programs}


@pytest.mark.parametrize("name", EXPECTED)
def test_the_line_and_what_helps_are_named(campaign, rows, name):
    row, (where, action) = rows[name], EXPECTED[name]
    first = row.flip.reasons[0]
    assert answer_and_exit(campaign, row) == ("no", 1)
    assert (first.where.split(" (")[0], first.action[: len(action)]) == (where, action)


def test_a_read_that_is_kept_is_the_one_to_look_at_where_it_fails(rows):
    first = rows["fails_by_what_it_kept"].flip.reasons[0]
    assert first.action.startswith(
        f"find out what the read of the flag at {at('reads once')} decides"
    )


def test_a_process_that_a_callback_asks_is_the_read_to_look_at(rows):
    first = rows["asks_a_process_in_a_callback"].flip.reasons[0]
    assert first.action.startswith(
        f"find out what the read of the environment at {at('is inherited')} decides"
    )


def test_what_works_after_the_flip_alone_is_said_so(campaign, rows):
    row = rows["captured_in_a_kernel"]
    [first] = row.flip.reasons
    assert answer_and_exit(campaign, row) == ("not known", 2)
    assert first.what.startswith("jax-legacy fails today, and jax-simplified works after the flip")
    assert first.action.startswith("nothing for the flip, which does not break it")


def test_a_look_alike_raises_no_alarm(campaign, rows):
    alike = {name: row for name, row in rows.items() if name.startswith("without")}
    assert "without_a_decision_at_import" in alike
    found = {name: (*answer_and_exit(campaign, row), row.verdict) for name, row in alike.items()}
    assert found == dict.fromkeys(alike, ("yes", 0, "parity"))


@pytest.mark.parametrize(
    ("name", "where", "action"),
    [
        ("imported_before_the_flip_alone", at("reads before it raises", FAILS), FLAG),
        ("aborts_after_the_flip_alone", at("reads before it aborts", ABORTS), CONSTS),
    ],
)
def test_a_read_is_named_that_fails_an_import(rows, name, where, action):
    first = rows[name].flip.reasons[0]
    assert (answer_of(rows[name].flip), first.where.split(" (")[0]) == ("no", where)
    assert first.action.startswith(action)
