"""Programs that fail or differ because they read jaxprs or the flag are told which line does it."""

import pytest
from program_files import line_with, program_file

from parity_tests.run import run
from parity_tests.run.options import CampaignOptions

FILE = program_file("trust/reads_jaxprs")
CONSTS, FLAG = "`.consts` of a closed_jaxpr", "jax_use_simplified_jaxpr_constants"


@pytest.fixture(scope="module")
def flips():
    """The flip verdicts by program, of a campaign on both stock sides."""
    options = CampaignOptions(sides=("jax-legacy", "jax-simplified"), timeout=60.0, steady_calls=0)
    return {row.name: row.flip for row in run.run([str(FILE)], options).programs}


@pytest.mark.parametrize(
    ("name", "line", "read", "fix"),
    [
        ("first_constant", "# reads first_constant", CONSTS, "eval_jaxpr"),
        ("number_of_constants", "# reads number_of_constants", CONSTS, "eval_jaxpr"),
        ("in_the_factory", "# reads in_the_factory", CONSTS, "eval_jaxpr"),
        ("raises_in_the_factory", "# reads raises_in_the_factory", CONSTS, "eval_jaxpr"),
        ("number_of_constvars", "# reads number_of_constvars", "`.constvars`", "eval_jaxpr"),
        ("own_interpreter", "for var in equation.invars", "`.invars` of an eq", "Literal.val"),
        ("number_of_operands", "# reads number_of_op", "`.invars` of an eq", "number of operands"),
        ("operands_of_a_body", "# reads operands_of_a_body", "`.invars` of a jaxpr", "pair"),
        ("constants_of_a_body", "# reads constants_of_a_body", "`.params` of an eq", "num_consts"),
        ("the_flag_by_its_private_name", "# reads its private name", FLAG, "do not read the flag"),
        ("in_an_inner_jit", "# reads jitted_reader", CONSTS, "eval_jaxpr"),
        ("in_an_inner_jit_again", "# reads jitted_reader", CONSTS, "eval_jaxpr"),
        ("the_flag", "# reads the_flag", FLAG, "do not read the flag"),
        ("the_flag_among_all", "jax.config.values", FLAG, "do not read the flag"),
        ("the_variable", "os.getenv", FLAG, "do not read the flag"),
        ("raises_by_the_flag", "# reads raises_by_the_flag", FLAG, "do not read the flag"),
        ("option_of_its_jit", "# reads option_of_its_jit", FLAG, "do not read the flag"),
        ("counted_at_import", "AT_IMPORT = len", CONSTS, "eval_jaxpr"),
        ("flag_at_import", "FLAG_AT_IMPORT = ", FLAG, "do not read the flag"),
    ],
)
def test_the_line_that_reads_is_the_cause(flips, name, line, read, fix):
    flip = flips[name]
    assert flip.outcome == "different"
    reason = flip.reasons[0]
    assert reason.where.startswith(
        f"tests/programs/trust/reads_jaxprs.py:{line_with(FILE, line)} ("
    )
    assert f"; {read}" in reason.what
    assert "in legacy it" in reason.what or "in simplified it" in reason.what
    assert fix in reason.action
    assert not any("culprit" in each.action for each in flip.reasons)


def test_a_read_that_decides_nothing_follows_the_placement_that_does(flips):
    placement, read = (
        each for each in flips["reads_beside_a_placement"].reasons if each.kind != "note"
    )
    assert (placement.kind, placement.outcome) == ("placement", "placed otherwise")
    assert read.what.startswith("reads jaxpr constants: ")
    assert read.action.startswith("nothing: it is not the cause")


@pytest.mark.parametrize(
    "name",
    [
        "evaluated", "as_a_function", "interpreter_for_both_forms", "nothing_captured",
        "another_flag", "reads_nothing", "same_option_of_its_jit",
    ],
)  # fmt: skip
def test_what_works_in_both_forms_is_no_alarm(flips, name):
    flip = flips[name]
    assert flip.outcome == "safe"
    reads = [each for each in flip.reasons if each.what.startswith("reads ")]
    assert all(each.action == "nothing" for each in reads)
    assert all("traced alike in both forms" in each.what for each in reads)
    listed = ("evaluated", "interpreter_for_both_forms", "same_option_of_its_jit")
    assert bool(reads) is (name in listed)
