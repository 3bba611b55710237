"""Jits with options of their own: what a flip does to programs that are called as users call them.

The expected outcomes are those of stock JAX, which ran each program as it is written, in a process
for each mode.
"""

import pytest
from program_files import program_file

from parity_tests import targets
from parity_tests.cli.reasons_once import told_once
from parity_tests.observe.hazards import detect
from parity_tests.observe.measure import measure
from parity_tests.run import run
from parity_tests.run.options import CampaignOptions
from reports.rows import fail_rules

OWN, BOUND, LIBRARIES = (
    program_file(f"reported/{name}") for name in ("own_jits", "bound_jits", "library_jits")
)


@pytest.fixture(scope="module")
def rows():
    options = CampaignOptions(
        sides=("jax-legacy", "jax-simplified"), timeout=60.0, steady_calls=0, attribute=False
    )
    return {row.name: row for row in run.run([str(OWN)], options).programs}


@pytest.mark.parametrize(
    "name",
    ["tree_donates", "keyword_donates", "lambda_donates", "branches_on_tracers", "alias_donates"],
)
def test_a_captured_array_that_is_donated_is_told_in_one_way_whoever_jits_the_program(rows, name):
    row = rows[name]
    first = row.flip.reasons[0]
    assert (row.verdict, row.flip.outcome, first.kind) == ("difference", "different", "failure")
    assert first.what.startswith(
        "as it is written, call 1 works on jax-legacy and fails on jax-simplified: "
    )
    assert "Attempt to donate a buffer which is also used by the same call" in first.what
    rules = fail_rules.parse(fail_rules.DEFAULT)
    assert [each.name for each in rules if each.is_broken_by(row)] == ["new-failure"]
    told = [each for each in told_once(row.reasons, row.flip) if "Attempt to donate" in each]
    assert told == []


def test_a_jit_within_a_wrapper_is_given_its_static_arguments(rows):
    row = rows["wrapper_static"]
    assert (row.verdict, row.flip.outcome) == ("parity", "safe")
    assert [leaf.shape for leaf in row.observations[0].outputs] == [(16,)]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("broken_by_its_trace", "not within another jit"),
        ("options_of_an_outermost_jit", "`compiler_options` can only be passed to top-level"),
    ],
)
def test_a_wrapper_that_cannot_be_followed_is_called_as_it_is_written(rows, name, why):
    row = rows[name]
    first = row.flip.reasons[0]
    assert (row.verdict, row.flip.outcome) == ("could not compare", "could not compare")
    assert first.what.startswith(
        "what it costs is not known: as it is written it runs, 4 calls alike on both sides, and "
    )
    assert why in first.what
    assert first.action.startswith("name the functions that it jits as programs")


def test_a_program_that_fails_as_it_is_written_fails_today(rows):
    first = rows["fails_by_itself"].flip.reasons[0]
    assert first.what.startswith(
        "jax-legacy fails today, alike: exception in trace: AttributeError"
    )


def hazards(file, name):
    return [each.kind for each in detect(targets.load_one(f"{file}:{name}"))]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        *((BOUND, f"{name}_donates") for name in ("method", "partial", "captured_by_lambda")),
        *((BOUND, f"{name}_donates") for name in ("grad", "checkpoint", "vmap")),
        (LIBRARIES, "nnx_donates"),
        (LIBRARIES, "eqx_vmap_donates"),
    ],
)
def test_a_donation_is_found_wherever_the_jit_is(file, name):
    assert "captured and donated" in hazards(file, name)


@pytest.mark.parametrize("name", ["jit_of_donating_jit", "donates_another", "partial_of_argument"])
def test_a_donation_that_takes_no_captured_array_is_no_hazard(name):
    assert hazards(BOUND, name) == []


@pytest.mark.parametrize(
    ("file", "name", "shape"),
    [
        *((BOUND, name, (16,)) for name in ("class_method", "static_method", "called_object")),
        (LIBRARIES, "nnx_static", (16,)),
        (LIBRARIES, "nnx_method_updates", (64,)),  # of the model that it updates
        (LIBRARIES, "eqx_module", (16,)),
    ],
)
def test_static_arguments_are_values_and_methods_keep_their_object(file, name, shape):
    found = measure(targets.load_one(f"{file}:{name}"), "jax-legacy").observation
    assert found.failure is None
    assert [leaf.shape for leaf in found.outputs] == [shape]
    assert found.jaxpr.captured_arrays == 1
