"""Problems that a stranger planted are named with their reasons, and look-alikes raise no alarm."""

import pytest
from flipped import answer_and_exit, flipped
from program_files import line_with, program_file

pytestmark = pytest.mark.deep

FILE = program_file("trust/attacked_again")


def marked(comment):
    return f"attacked_again.py:{line_with(FILE, f'# {comment}')}"


READ, CALL = marked("reads the flag"), "call the compiled stage"
DO_NOT_READ, FIND_OUT = "do not read the flag", "find out what the read of the flag at "
NO, AT_A_PRICE = ("no", 1), ("yes, at a price", 0)

# The answer and the exit status, words of the first reason, and the beginning of its action.
EXPECTED = {
    "decides_signs_of_zeros": (*NO, READ, DO_NOT_READ),
    "decides_an_order": (*NO, "ordered effects are", DO_NOT_READ),
    "decides_in_a_callback_what_fails": (*NO, "the fifth call, in a callback", DO_NOT_READ),
    "decides_in_a_callback_a_later_value": (*NO, "call 6 of jax-simplified", DO_NOT_READ),
    "decides_in_a_callback_what_is_kept": (*AT_A_PRICE, "left 1 array on devices", FIND_OUT),
    "traces_by_all_variables": (*NO, marked("goes through all"), "leave JAX_USE_SIMPLIFIED"),
    "reads_the_text_of_a_jaxpr": (*NO, marked("reads a text"), "decide nothing by the text"),
    "reads_constants_of_a_module": (*NO, marked("reads a module"), CALL),
    "reads_the_memory_of_arguments": (*NO, marked("reads an analysis"), CALL),
    "fails_with_a_raw_executable": (*NO, "compiled program expected 2", CALL),
    "writes_behind_an_array": (*NO, "holds other values after the calls", "capture a copy"),
}
FOLDED = (*NO, "cause: ", "compute what is folded before tracing")


@pytest.fixture(scope="module")
def campaign():
    return flipped(FILE)


def said(row):
    answer, status, words, action = EXPECTED.get(row.name, FOLDED)
    worst = row.flip.reasons[0].outcome
    for each in row.flip.reasons:
        holds = words in f"{each.where} {each.what}" and each.action.startswith(action)
        if each.outcome == worst and holds:
            return answer, status, words, action
    return [(each.what, each.action) for each in row.flip.reasons if each.outcome == worst]


def test_each_problem_is_named_with_its_reason_and_what_helps(campaign):
    rows = [row for row in campaign.programs if not row.name.startswith("without")]
    found = {row.name: (*answer_and_exit(campaign, row), said(row)) for row in rows}
    assert {*EXPECTED} < {*found}
    expected = {name: EXPECTED.get(name, FOLDED) for name in found}
    assert found == {name: (*each[:2], each) for name, each in expected.items()}


def test_folding_is_the_cause_of_what_it_decides(campaign):
    rows = [row for row in campaign.programs if row.name.startswith("folds")]
    assert {row.drift[0].cause for row in rows} == {"constant folding"}


def test_a_look_alike_raises_no_alarm(campaign):
    rows = [row for row in campaign.programs if row.name.startswith("without")]
    assert rows
    found = {row.name: answer_and_exit(campaign, row) for row in rows}
    assert found == {row.name: ("yes", 0) for row in rows}
