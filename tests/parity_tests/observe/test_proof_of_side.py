"""The proof of a side: what contradicts a side is an error, planted here for each rule."""

import json
import subprocess
import sys
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from program_files import script_file

from parity_tests.jaxpr import counts
from parity_tests.jaxpr.captured import CapturedValue
from parity_tests.observe import measure, stablehlo
from parity_tests.observe.proof_of_side import prove, written_since
from parity_tests.processes.side_environment import JAX_FLAG, environment_of, with_our_packages
from parity_tests.program import from_function, program

TABLE = jnp.arange(77.0)
HERE, OTHER = (
    ("jax-simplified", "jax-legacy")
    if jax.config.jax_use_simplified_jaxpr_constants
    else ("jax-legacy", "jax-simplified")
)


@program(args=(np.float32(2.0),))
def scaled(x):
    return x * TABLE


@program(args=(np.float32(2.0),))
def captures_nothing(x):
    return x * 2


def test_a_run_under_the_wrong_label_is_noticed():
    observation = measure.measure(from_function(scaled, "here:scaled"), OTHER).observation
    assert observation.failure.kind == "wrong side"
    assert observation.failure.stage == "count"
    assert not observation.proof.holds
    assert observation.proof.statement.startswith(f"not {OTHER}: ")
    assert observation.times is None


def test_a_run_under_its_own_label_holds():
    measured = measure.measure(from_function(scaled, "here:scaled"), HERE)
    assert measured.observation.failure is None
    assert measured.observation.proof.holds
    assert measured.values[0].array.tolist() == [2.0 * i for i in range(77)]


@pytest.mark.parametrize("side", [HERE, OTHER])
def test_nothing_captured_proves_nothing_and_says_so(side):
    proof = measure.measure(from_function(captures_nothing, "here:f"), side).observation.proof
    assert proof.holds
    assert "both modes produce the same" in proof.statement


MODULE = """
func.func public @main(%a: tensor<77xf32>) -> tensor<77xf32> {
  %c = stablehlo.constant dense<VALUE> : tensor<77xf32>
  return %a : tensor<77xf32>
}
"""


def module(value="1.0", const_args=0):
    made = jax.jit(lambda x: x).lower(1.0).compiler_ir()
    parsed = type(made).parse(MODULE.replace("VALUE", value), context=made.context)
    types = (((77,), "f32"),) * const_args
    found = stablehlo.count(parsed, embed_threshold=32)
    return replace(found, const_args=const_args, const_arg_types=types)


def facts(**changes):
    """A simplified jaxpr with one captured array that is all ones."""
    array = np.ones(77, np.float32)
    captured = CapturedValue(1, (77,), 308, False, array)
    simplified = counts.JaxprFacts(1, 0, 0, 1, (captured,), (), False)
    return replace(simplified, **changes)


KEYS = CapturedValue(2, (), 8, True, None)
LEGACY = {"constvars": 1, "array_literals": 0}
OF_JAX = CapturedValue(3, (77,), 308, False, jnp.ones(77))
OTHER_TYPE = CapturedValue(4, (5, 5), 100, False, np.ones((5, 5), np.float32))

PLANTED = [
    # side, jaxpr, module, what is found (None: it holds)
    ("legacy", facts(**LEGACY), module(), None),
    ("legacy", facts(**LEGACY), module(const_args=1), "1 const arg where legacy passes none"),
    ("legacy", facts(**LEGACY), module("2.0"), "1 captured array not inlined, where legacy"),
    ("jax-legacy", facts(), module(), "1 array literal where legacy has none"),
    ("simplified", facts(), module("2.0", 1), None),
    ("simplified", facts(**LEGACY), module("2.0", 1), "1 constvar where simplified has none"),
    ("simplified", facts(), module("1.0", 1), "308 bytes of captured arrays were inlined"),
    ("simplified", facts(calls_exported=True), module("1.0", 1), None),
    ("simplified", facts(), module("2.0", 0), "0 const args for 1 captured array"),
    ("simplified", facts(), module("2.0", 2), "2 const args for 1 captured array"),
    ("simplified", facts(small_keys=(KEYS,)), module("2.0", 2), None),
    ("jax-simplified", facts(), module("2.0", 3), None),
    ("jax-simplified", facts(constvars=1, special_constvars=1), module("2.0", 1), None),
    (
        "jax-simplified",
        facts(constvars=2, special_constvars=1),
        module("2.0", 1),
        "1 constvar where",
    ),
    ("jax-simplified", facts(), module("1.0", 1), "308 bytes of captured arrays were inlined"),
]


@pytest.mark.parametrize(("side", "jaxpr", "module", "found"), PLANTED)
def test_evidence_against_a_side_is_found(side, jaxpr, module, found):
    proof = prove(side, jaxpr, module, live_captured=1)
    assert proof.holds == (found is None)
    assert (found or "") in proof.statement


@pytest.mark.parametrize(
    ("jaxpr", "module", "written"),
    [
        (facts(**LEGACY), module("2.0"), True),
        (facts(**LEGACY), module("1.0"), False),
        (facts(**LEGACY), module("2.0", 1), False),  # no module of legacy
        (facts(), module("2.0"), False),
        (facts(**LEGACY, captured=(OF_JAX,)), module("2.0"), False),  # nobody writes to it
        (facts(**LEGACY, captured=(OTHER_TYPE,)), module("2.0"), False),
    ],
)
def test_an_array_of_which_a_legacy_module_has_other_values_was_written_to(jaxpr, module, written):
    assert written_since(jaxpr, module) == (list(jaxpr.captured) if written else [])


@pytest.mark.parametrize("side", ["simplified", "jax-simplified"])
def test_one_array_that_stays_inlined_beside_hoisted_ones_is_of_the_side(side):
    other = CapturedValue(2, (5, 5), 100, False, np.ones((5, 5), np.float32))
    two = facts(captured=(*facts().captured, other), array_literals=2)
    beside = replace(module("1.0", 1), const_arg_types=(((5, 5), "f32"),))
    assert prove(side, two, beside, live_captured=2).holds
    alone = replace(beside, const_args=0, const_arg_types=())
    assert not prove(side, two, alone, live_captured=2).holds


def test_an_inlined_key_is_no_array_of_its_words_that_is_passed():
    key, other = (CapturedValue(2, (), 308, True, np.full(77, n, np.float32)) for n in (1, 2))
    words = facts(captured=(*facts().captured, key))
    assert prove("jax-simplified", words, module("1.0", 1), live_captured=2).holds
    assert not prove("jax-simplified", words, module("1.0", 0), live_captured=2).holds
    others = facts(captured=(*facts().captured, other))
    assert not prove("jax-simplified", others, module("1.0", 1), live_captured=2).holds


def test_an_array_that_nothing_reads_need_not_be_passed():
    assert prove("simplified", facts(), module("2.0", 0), live_captured=0).holds
    assert prove("legacy", facts(**LEGACY), module("2.0", 0), live_captured=0).holds


def written_over(x):
    reference = jax.new_ref(x)
    reference[...] = TABLE
    reference[...] = x + 1
    return reference[...]


@pytest.mark.parametrize("fun", [written_over, lambda x: jax.jit(written_over)(x) * 2])
def test_an_array_that_is_written_over_in_a_reference_need_not_be_passed(fun):
    marked = program(args=(np.ones(77, np.float32),))(fun)
    observation = measure.measure(from_function(marked, "here:f"), HERE).observation
    assert observation.failure is None
    assert observation.proof.holds


# -- the flag set at run time ----------------------------------------------------------------------

# JAX reads its flag at import, for the literals that it allows and for whether it hoists, and again
# when it traces. A process in which these disagree is a third pipeline, and neither side.


def measured_with(environment_flag, then):
    """What becomes of programs on both stock sides, in a process with the flag in this state."""
    environment = with_our_packages(environment_of("jax-legacy")) | {JAX_FLAG: environment_flag}
    done = subprocess.run(
        [sys.executable, str(script_file("flag_set_at_run_time")), then],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_a_flag_set_at_run_time_makes_neither_side():
    found = measured_with("0", "set at run time")
    assert len(found) == 24
    assert set(found.values()) == {"wrong side"}, found


@pytest.mark.parametrize(
    ("environment_flag", "accepted"), [("0", "jax-legacy"), ("1", "jax-simplified")]
)
def test_a_flag_in_the_environment_makes_one_side(environment_flag, accepted):
    found = measured_with(environment_flag, "left alone")
    assert {key for key, what in found.items() if what == "accepted"} == {
        key for key in found if key.endswith(accepted)
    }
