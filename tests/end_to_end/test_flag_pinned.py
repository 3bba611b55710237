"""The built-in corpus where JAX's flag is pinned to True, and to False, for tracing and lowering.

Both pipelines make the same of each program as where the flag is left alone: printed jaxprs,
StableHLO, counters and the bits of the results. One process for each pin; one of six programs, or
all with CONSTPARITY_WHOLE_CORPUS=1.
"""

import json
import os
import subprocess
import sys

import jax
import pytest
from program_files import script_file

pytestmark = pytest.mark.deep

WHOLE = bool(os.environ.get("CONSTPARITY_WHOLE_CORPUS"))
PART = "0/1" if WHOLE else "0/6"

# What the passes alone cannot make as JAX's tracer makes it, by the value of the pin. Each computes
# the same bits. First, the order of the operands of bodies that were differentiated or batched: a
# trace of the one form reads the arrays in another order than a trace of the other one.
DERIVED = {
    "True": {"batched_while", "grad_of_cond", "checkpointed_layers", "checkpoint_with_policy"},
    "False": {"grad_of_scan", "checkpoint_with_policy"},
}
# Since jax 0.12.0 a differentiated cond hands on the arrays that its branches close over, in one
# form alone.
if jax.__version_info__ >= (0, 12, 0):
    DERIVED["False"] |= {"grad_of_cond"}
# Second, constants of JAX's own lowering rules, which it traces while it lowers: tables of the
# random number generators, once for each use or once for each function.
LOWERING_RULES = {
    "random_bits_beside_captured", "sparse_matrix_object", "raw_key_wrapped_inside",
    "legacy_raw_key", "key_made_inside", "typed_key_captured", "typed_keys_captured",
    "optax_adam_step", "optax_training_loop",
}  # fmt: skip
# Since jax 0.12.0 `jnp.interp` is a primitive of hijax, which JAX expands while it lowers.
EXPANDED = {"False": {"custom_jvp_captures"} if jax.__version_info__ >= (0, 12, 0) else set()}


def started(pin, how, part=PART):
    command = [sys.executable, str(script_file("corpus_with_the_flag_pinned")), pin, how, part]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def rows_of(process):
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 0
    found = json.loads(output)
    assert not found["tried"]  # nothing of the engine wanted to set the flag
    assert all("error" not in row for row in found["rows"].values())
    return found["rows"]


@pytest.fixture(scope="module")
def rows():
    return rows_of(started("left alone", "hook"))


def differing(rows, pin, how):
    pinned = rows_of(started(pin, how))
    assert pinned.keys() == rows.keys()
    return {
        (*name.rsplit(", ", 1), of)
        for name, row in rows.items()
        for of in row
        if pinned[name][of] != row[of]
    }


@pytest.mark.parametrize("pin", ["True", "False"])
def test_no_pin_changes_anything(rows, pin):
    assert differing(rows, pin, "hook") == set()
    assert len(rows) > 2 * 20


@pytest.mark.parametrize("pin", ["True", "False"])
def test_the_passes_alone_make_the_form_of_a_side(rows, pin):
    """The tracer emits the form of the pin, and computes its derivatives in it."""
    found = differing(rows, pin, "passes alone")
    assert {side for _, side, _ in found} <= {"legacy" if pin == "True" else "simplified"}
    assert {of for _, _, of in found} <= {"printed jaxpr", "StableHLO", "counters"}
    programs = {name.partition(",")[0] for name in rows}
    expected = (DERIVED[pin] | LOWERING_RULES | EXPANDED.get(pin, set())) & programs
    assert {program for program, _, _ in found} == expected
    assert {program for program, _, of in found if of == "printed jaxpr"} == DERIVED[pin] & programs
    counted = {program for program, _, of in found if of == "counters"}
    assert counted <= {"sparse_matrix_object", "grad_of_cond"}


@pytest.mark.parametrize(("pin", "side"), [("True", "legacy"), ("False", "simplified")])
def test_without_hook_and_passes_the_pin_shows(rows, pin, side):
    """The planted fault: the pipelines trust that the tracer emitted their form."""
    pinned = rows_of(started(pin, "neither", "0/30"))
    found = {
        name for name, row in pinned.items() if row["printed jaxpr"] != rows[name]["printed jaxpr"]
    }
    assert found
    assert all(name.endswith(side) for name in found)
