"""What traced functions and lowering rules see of the engine is what they see of `jax.jit`.

Stock JAX is asked at run time, in processes without the engine, so nothing here is of one version.
"""

import json
import os
import subprocess
import sys

import pytest
from program_files import script_file

# The sides, and the value of JAX's flag in their process: the engine's have that of the other side.
STARTED = {
    "legacy": ("legacy", "1"),
    "simplified": ("simplified", "0"),
    "stock legacy": ("jax.jit", "0"),
    "stock simplified": ("jax.jit", "1"),
}


@pytest.fixture(scope="module")
def seen():
    """What each side sees, by its name."""
    command = [sys.executable, str(script_file("seen_from_inside"))]
    processes = {
        name: subprocess.Popen(
            [*command, jit],
            env=os.environ | {"JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": flag},
            stdout=subprocess.PIPE,
            text=True,
        )
        for name, (jit, flag) in STARTED.items()
    }
    return {name: json.loads(each.communicate(timeout=120)[0]) for name, each in processes.items()}


@pytest.mark.parametrize("side", ["legacy", "simplified"])
def test_the_stack_is_as_deep_while_a_function_is_traced(seen, side):
    """A function near the limit of recursion works under the engine if it does under JAX."""
    assert seen[side]["depths"] == seen[f"stock {side}"]["depths"]


@pytest.mark.parametrize("side", ["legacy", "simplified"])
def test_a_lowering_rule_reads_whether_constants_are_hoisted(seen, side):
    assert seen[side]["hoisting"] == seen[f"stock {side}"]["hoisting"]
    assert set(seen[side]["hoisting"]) == {side == "simplified"}


@pytest.mark.parametrize("side", ["legacy", "simplified"])
def test_a_function_that_jax_evaluates_by_itself_keeps_its_side(seen, side):
    """Some of JAX's functions evaluate equation by equation; plain `jax.jit` lowers the whole."""
    other = "simplified" if side == "legacy" else "legacy"
    expected = seen[f"stock {side}"]["arrays"]
    in_a_plain_jit = {"plain jit": seen[f"stock {other}"]["arrays"]["plain jit"]}
    assert seen[side]["arrays"] == expected | in_a_plain_jit
    assert [*expected.values()] == [["inlined" if side == "legacy" else "hoisted"]] * len(expected)


@pytest.mark.parametrize("side", ["legacy", "simplified"])
def test_a_read_of_the_flag_gives_the_form_that_is_traced(seen, side):
    """A library that branches on JAX's flag takes the branch of the side."""
    inside, outside = seen[side]["flags"]
    of_jax_inside, _ = seen[f"stock {side}"]["flags"]
    _, of_jax_outside = seen["stock simplified" if side == "legacy" else "stock legacy"]["flags"]
    assert inside == of_jax_inside
    assert outside == of_jax_outside
    assert [*inside.values()] == [[side == "simplified"] * 4] * 6


@pytest.mark.parametrize("frames", ["0", "1", "3"])
@pytest.mark.parametrize(
    ("side", "number"), [("legacy", 1), ("simplified", 2)], ids=["legacy", "simplified"]
)
def test_warnings_of_captured_constants_have_the_words_of_jax(seen, side, number, frames):
    """Stock warns of the total in legacy, of each array in simplified; the engine of both."""
    of_jax = seen[f"stock {side}"]["warnings"][frames]
    assert len(of_jax) == number
    ours = seen[side]["warnings"][frames]
    assert len(ours) == 3
    assert [each for each in ours if each in of_jax] == of_jax


def test_both_sides_warn_alike_of_totals(seen):
    legacy, simplified = (seen[side]["warnings"]["0"][-1] for side in ("legacy", "simplified"))
    assert legacy == simplified
    assert "(2.80KB total)" in legacy
