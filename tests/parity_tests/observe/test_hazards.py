"""Each hazard is detected, its look-alike is not, and stock JAX really does what it says."""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental.layout import Format, Layout
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding
from program_files import script_file

from parity_tests.observe import hazards
from parity_tests.processes.side_environment import environment_of, with_our_packages
from parity_tests.program import from_function

TABLE = jnp.arange(64.0) + 1
MATRIX = jnp.arange(64.0).reshape(8, 8) + 1


@functools.cache
def run(side):
    done = subprocess.run(
        [sys.executable, str(script_file("flip_hazards")), side],
        env=with_our_packages(environment_of(side)),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


WRITEABLE, DONATED = "writeable NumPy array", "captured and donated"
DEVICES, PLACEMENT = "incompatible devices", "placement of outputs"
TRANSFER = "implicit transfer"
FORBIDDEN, OF_ARRAY = "INVALID_ARGUMENT: Disallowed", "transfer: aval=ShapedArray(float32[64]),"


@pytest.mark.parametrize(
    ("program", "kinds"),
    [
        ("writeable", [WRITEABLE]),
        ("writeable, in what a primitive expands to", [WRITEABLE]),
        ("writeable through its base", [WRITEABLE]),
        ("writeable through nobody's base", []),
        ("writeable by another view", [WRITEABLE]),
        ("a file that is mapped", [WRITEABLE]),
        ("of another library", [WRITEABLE]),
        ("of a jax.Array", []),
        ("read-only", []),
        ("a jax.Array", []),
        ("small and writeable", []),
        ("donated", [DONATED]),
        ("donated by another on its buffer", [DONATED]),
        ("donated where its sharding puts it", [DONATED]),
        ("donated and moved by its sharding", []),
        ("donated and unread", []),
        ("donated, unread and kept", [DONATED]),
        ("an equal array donated", []),
        ("captured and passed", []),
        ("argument elsewhere", [DEVICES]),
        ("two captured apart", [DEVICES, PLACEMENT]),
        ("argument on the same devices in another order", [DEVICES]),
        ("two captured in another order", [DEVICES, PLACEMENT]),
        ("shard_map in another order", [DEVICES]),
        ("inputs elsewhere", [DEVICES]),
        ("outputs elsewhere", [DEVICES]),
        ("device elsewhere", [DEVICES]),
        ("device of the captured", []),
        ("device, and nothing read", []),
        ("returns nothing", []),
        ("returns nothing, on another device", []),
        ("moved elsewhere", [DEVICES]),
        ("jit inside elsewhere", [DEVICES]),
        ("captured elsewhere, under a mesh", [DEVICES]),
        ("argument on the same device", []),
        ("uncommitted captured", []),
        ("output committed", [PLACEMENT]),
        ("unread argument committed", [PLACEMENT]),
        ("unread argument committed elsewhere", [PLACEMENT]),
        ("unread argument committed and kept", []),
        ("sharding of an unread argument", [PLACEMENT]),
        ("sharding of a read argument", []),
        ("sharding of an argument of two", []),
        ("read by dead code", []),
        ("read by dead code, and unread arguments kept", [PLACEMENT]),
        ("moved to a device", [PLACEMENT]),
        ("moved to a sharding", []),
        ("moved to a memory", []),
        ("moved to a memory elsewhere", [PLACEMENT]),
        ("argument moved by its sharding", []),
        ("moved to a memory of the default device", []),
        ("moved to a memory beside the default device", [PLACEMENT]),
        ("jit inside", [PLACEMENT]),
        ("jit inside with a sharding", []),
        ("jit inside with the sharding of an unread argument", [PLACEMENT]),
        ("output committed, under a mesh", []),
        ("pjit, under a mesh", [PLACEMENT]),
        ("pjit, with a mesh", []),
        ("pjit, with a mesh elsewhere", [DEVICES]),
        ("jit, with a mesh", [PLACEMENT]),
        ("output sharded", [PLACEMENT]),
        ("output sharded by its type", []),
        ("both replicated", []),
        ("captured apart from a shard_map", [DEVICES]),
        ("captured anywhere in a shard_map", []),
        ("captured on the mesh of a shard_map", []),
        ("sharded operand of a shard_map", []),
        ("replicated beside a shard_map", []),
        ("sharded beside a shard_map", [PLACEMENT]),
        ("sharded and constrained", []),
        ("captured apart from a constraint", [DEVICES]),
        ("sharding of outputs stated", []),
        ("NumPy, guarded", [TRANSFER]),
        ("NumPy, guarded, moved before", []),
        ("NumPy, logged", []),
        ("uncommitted captured, guarded", [TRANSFER]),
        ("outputs elsewhere, guarded between devices", [TRANSFER]),
        ("moved elsewhere, guarded between devices", [TRANSFER]),
        ("another default device, guarded between devices", [TRANSFER]),
        ("same device, guarded between devices", []),
        ("uncommitted captured, guarded, moved before", []),
    ],
)
@pytest.mark.parametrize("side", ["jax-legacy", "jax-simplified"])
def test_a_hazard_is_detected_and_its_look_alike_is_not(side, program, kinds):
    assert run(side)["hazards"][program] == kinds


def test_the_trace_of_a_measurement_tells_the_same_hazards():
    found = run("jax-simplified")
    assert found["measured"] == found["hazards"]


def test_a_measurement_with_donation_fails_where_stock_jax_does():
    """What XLA makes of a buffer that two arrays share only the call as it is written shows."""
    found = run("jax-simplified")
    raised = [name for name, made in found["runs"].items() if "Attempt to donate" in str(made)]
    raised.remove("donated by another on its buffer")
    assert [each for each in found["fails"] if each.startswith("donated")] == raised


@pytest.mark.parametrize(
    ("program", "legacy", "simplified"),
    [
        ("overwritten", 2.0, 8.0),
        ("file overwritten", 2.0, 8.0),
        ("donated", "uncommitted 0", "INVALID_ARGUMENT: Attempt to donate a"),
        (
            "donated by another on its buffer",
            "committed 0",
            "INVALID_ARGUMENT: Attempt to donate a",
        ),
        (
            "donated where its sharding puts it",
            "committed 0",
            "INVALID_ARGUMENT: Attempt to donate a",
        ),
        ("donated and moved by its sharding", "committed 1", "committed 1"),
        ("donated and unread", "uncommitted 0", "uncommitted 0"),
        ("donated, unread and kept", "uncommitted 0", "INVALID_ARGUMENT: Attempt to donate a"),
        ("an equal array donated", "uncommitted 0", "uncommitted 0"),
        ("captured and passed", "uncommitted 0", "uncommitted 0"),
        ("argument elsewhere", "committed 0", "Received incompatible devices for jitted"),
        ("two captured apart", "uncommitted 0", "Received incompatible devices for jitted"),
        (
            "argument on the same devices in another order",
            "committed 0/1",
            "Received incompatible devices for jitted",
        ),
        (
            "two captured in another order",
            "uncommitted 0",
            "Received incompatible devices for jitted",
        ),
        ("shard_map in another order", "committed 0/1", "Received incompatible devices for jitted"),
        ("inputs elsewhere", "committed 1", "Received incompatible devices for jitted"),
        ("outputs elsewhere", "committed 1", "Received incompatible devices for jitted"),
        ("device elsewhere", "committed 1", "Received incompatible devices for jitted"),
        ("device of the captured", "committed 1", "committed 1"),
        ("device, and nothing read", "committed 1", "committed 1"),
        ("returns nothing", "nothing", "nothing"),
        ("returns nothing, on another device", "nothing", "nothing"),
        ("moved elsewhere", "committed 1", "Received incompatible devices for jitted"),
        ("jit inside elsewhere", "committed 1", "Received incompatible devices for jitted"),
        (
            "captured elsewhere, under a mesh",
            "committed 1",
            "Received incompatible devices for jitted",
        ),
        ("argument on the same device", "committed 1", "committed 1"),
        ("uncommitted captured", "committed 1", "committed 1"),
        ("output committed", "uncommitted 0", "committed 1"),
        ("unread argument committed", "uncommitted 0", "committed 1"),
        ("unread argument committed elsewhere", "uncommitted 0", "committed 1"),
        ("unread argument committed and kept", "committed 1", "committed 1"),
        ("sharding of an unread argument", "uncommitted 0", "committed 1"),
        ("sharding of a read argument", "committed 1", "committed 1"),
        ("sharding of an argument of two", "committed 1", "committed 1"),
        ("read by dead code", "uncommitted 0", "uncommitted 0"),
        ("read by dead code, and unread arguments kept", "uncommitted 0", "committed 0"),
        ("moved to a device", "uncommitted 0", "committed 1"),
        ("moved to a sharding", "committed 1", "committed 1"),
        ("moved to a memory", "committed 0", "committed 0"),
        ("moved to a memory elsewhere", "committed 0", "committed 1"),
        ("argument moved by its sharding", "committed 0/1", "committed 0/1"),
        ("moved to a memory of the default device", "committed 1", "committed 1"),
        ("moved to a memory beside the default device", "committed 1", "committed 0"),
        ("jit inside", "uncommitted 0", "committed 1"),
        ("jit inside with a sharding", "committed 1", "committed 1"),
        ("jit inside with the sharding of an unread argument", "uncommitted 0", "committed 1"),
        ("output committed, under a mesh", "committed 1", "committed 1"),
        ("pjit, under a mesh", "uncommitted 0", "committed 1"),
        ("pjit, with a mesh", "committed 1", "committed 1"),
        (
            "pjit, with a mesh elsewhere",
            "committed 1",
            "Received incompatible devices for jitted",
        ),
        ("jit, with a mesh", "uncommitted 0", "committed 1"),
        ("output sharded", "committed 0/1", "committed 0/1 sharded"),
        ("output sharded by its type", "committed 0/1 sharded", "committed 0/1 sharded"),
        ("both replicated", "committed 0/1", "committed 0/1"),
        (
            "captured apart from a shard_map",
            "committed 0/1",
            "Received incompatible devices for jitted",
        ),
        ("captured anywhere in a shard_map", "committed 0/1", "committed 0/1"),
        ("captured on the mesh of a shard_map", "committed 0/1", "committed 0/1"),
        ("sharded operand of a shard_map", "committed 0/1", "committed 0/1"),
        ("replicated beside a shard_map", "committed 0/1 sharded", "committed 0/1 sharded"),
        ("sharded beside a shard_map", "committed 0/1", "committed 0/1 sharded"),
        ("sharded and constrained", "committed 0/1", "committed 0/1"),
        (
            "captured apart from a constraint",
            "committed 0/1",
            "Received incompatible devices for jitted",
        ),
        ("sharding of outputs stated", "committed 0/1", "committed 0/1"),
        (
            "NumPy, guarded",
            "uncommitted 0",
            f"{FORBIDDEN} host-to-device {OF_ARRAY}",
        ),
        ("NumPy, guarded, moved before", "uncommitted 0", "uncommitted 0"),
        ("NumPy, logged", "uncommitted 0", "uncommitted 0"),
        (
            "uncommitted captured, guarded",
            "committed 1",
            f"{FORBIDDEN} device-to-device {OF_ARRAY}",
        ),
        ("uncommitted captured, guarded, moved before", "committed 1", "committed 1"),
        *(
            (f"{name}, guarded between devices", legacy, f"{FORBIDDEN} device-to-device {OF_ARRAY}")
            for name, legacy in (
                ("outputs elsewhere", "committed 1"),
                ("moved elsewhere", "committed 1"),
                ("another default device", "uncommitted 1"),
            )
        ),
        ("same device, guarded between devices", "uncommitted 0", "uncommitted 0"),
    ],
)
def test_stock_jax_does_what_the_hazard_says(program, legacy, simplified):
    assert run("jax-legacy")["runs"][program] == legacy
    assert run("jax-simplified")["runs"][program] == simplified


def detect(fun, *args):
    return hazards.detect(from_function(lambda: (fun, args), "here"))


def kinds(fun, *args):
    return [hazard.kind for hazard in detect(fun, *args)]


def test_the_array_the_line_and_the_fix_are_named():
    host = np.arange(64, dtype=np.float32)

    def f(x):
        return x + 1.0, x * host

    [hazard] = detect(f, 2.0)
    assert hazard.kind == WRITEABLE
    assert hazard.array == "NumPy array float32[64]"
    assert hazard.file == str(Path(__file__).relative_to(os.getcwd()))
    assert hazard.line == f.__code__.co_firstlineno + 1
    assert "jnp.array(a)" in hazard.fix


def test_an_array_that_nobody_else_holds_cannot_be_written_to():
    held = []

    def f(x, hold):
        made = np.ones(64, np.float32)
        if hold:
            held.append(made[1:])
        return x + made + made.reshape(8, 8).T.reshape(64) + jnp.sin(made)

    assert WRITEABLE not in kinds(lambda x: f(x, False), 1.0)
    assert WRITEABLE in kinds(lambda x: f(x, True), 1.0)


def test_a_callback_may_write_in_the_memory_of_an_array_of_jax():
    memory = np.zeros(320, np.uint8)  # of which 64 floats are aligned, so that JAX copies none
    start = -memory.ctypes.data % 64
    host = memory[start : start + 256].view(np.float32)
    shared, own = jax.device_put(host), jnp.array(host, copy=True)

    def write(x):
        host[:] += 1
        return x

    def f(x, captured):
        return jax.lax.cond(x[0] > 0, call, jnp.sin, x) + captured

    def call(x):
        return jax.pure_callback(write, x, x)

    x = np.ones(64, np.float32)
    assert WRITEABLE in kinds(lambda x: f(x, shared), x)
    assert WRITEABLE in kinds(lambda x: f(x, np.asarray(shared)), x)
    assert WRITEABLE not in kinds(lambda x: f(x, own), x)
    assert WRITEABLE not in kinds(lambda x: x + shared, x)


def test_the_flag_of_the_process_is_left_as_it_was():
    before = jax.config.jax_use_simplified_jaxpr_constants
    detect(lambda x: x + TABLE, 1.0)
    assert jax.config.jax_use_simplified_jaxpr_constants == before


def test_a_sharding_is_stated_with_a_layout_as_well():
    first, second = map(SingleDeviceSharding, jax.devices()[:2])
    table = jax.device_put(np.ones((8, 8), np.float32), first)
    for end in ("in_shardings", "out_shardings"):
        for stated, found in ((first, []), (second, [DEVICES])):
            option = {end: Format(Layout((1, 0)), stated)}
            assert kinds(jax.jit(lambda x: x * table, **option), np.ones((8, 8))) == found


def test_a_static_argument_does_not_hide_a_donated_one():
    fun = jax.jit(lambda n, x: x * n + TABLE, static_argnums=0, donate_argnums=1)
    assert kinds(fun, 3, TABLE) == [DONATED]


def test_an_argument_whose_memory_no_output_can_take_is_not_donated():
    def kinds_of(made):
        return kinds(jax.jit(lambda x: made(x + TABLE), donate_argnums=0), TABLE)

    assert kinds_of(lambda y: y[:5]) == []
    assert kinds_of(lambda y: y.reshape(-1) > 0) == [DONATED]  # as many elements


def test_on_several_devices_an_argument_is_donated_whatever_the_outputs_are():
    mesh = Mesh(np.array(jax.devices()[:2]), "i")
    table = jax.device_put(np.ones(64, np.float32), NamedSharding(mesh, PartitionSpec("i")))
    assert DONATED in kinds(jax.jit(lambda x: (x + table)[:4], donate_argnums=0), table)


def test_an_array_with_two_literals_is_hoisted_more_than_once():
    [hazard] = detect(lambda x: x * TABLE + TABLE, 1.0)
    assert hazard.kind == "hoisted more than once"
    assert "2 const args" in hazard.what
    assert kinds(lambda x: x * TABLE, 1.0) == []


def test_many_uses_in_bodies_are_one_const_arg():
    def f(x):
        return lax.cond(x > 0, lambda: TABLE + x, lambda: TABLE - x)

    assert kinds(f, 1.0) == []
    assert kinds(lambda x: (f(x), TABLE), 1.0) == ["hoisted more than once"]


def test_stock_jax_hoists_as_often_as_is_said():
    script = (
        "import jax, jax.numpy as jnp\n"
        "table = jnp.arange(64.0)\n"
        "f = lambda x: (x * table + table, jax.lax.cond(x > 0, lambda: table, lambda: -table))\n"
        "print(jax.jit(f).lower(1.0).as_text().count('jax.const'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=with_our_packages(environment_of("jax-simplified")),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )

    def f(x):
        return x * TABLE + TABLE, lax.cond(x > 0, lambda: TABLE, lambda: -TABLE)

    [twice] = [h for h in detect(f, 1.0) if h.kind == "hoisted more than once"]
    assert f"{done.stdout.strip()} const args" in twice.what


def folded(fun, *args):
    found = [h for h in detect(fun, *args) if h.kind == "folded by legacy alone"]
    return found[0] if found else None


def test_work_on_captured_arrays_alone_is_counted():
    def f(x):
        powers = jnp.cumsum(MATRIX @ MATRIX, axis=0)
        return x + powers

    hazard = folded(f, 1.0)
    assert "2 equations on captured arrays alone (dot_general, cumsum)" in hazard.what
    assert hazard.array == "512 B of results"
    # 8 x 8 x 8 products and sums, and 64 sums in 6 steps
    assert hazard.operations == pytest.approx(2 * 8**3 + 64 * np.log2(66))
    assert hazard.what.endswith("at every call, about 1,400 operations")
    assert hazard.line == f.__code__.co_firstlineno + 1


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: jnp.cumsum(TABLE * x),
        lambda x: x + TABLE.reshape(8, 8).astype(jnp.int32)[:2],
        lambda x: x + jnp.sin(jnp.arange(64.0)),
        lambda x: x + jnp.cumsum(jnp.asarray(np.ones(8, np.float32))),
        lambda x: lax.scan(lambda c, _: (c * 2, None), TABLE, None, 3)[0] + x,
        lambda x: x + jnp.sin(TABLE)[:0].sum() if x is None else x,
    ],
    ids=["argument", "trivial", "nothing captured", "embedded", "loop", "dead"],
)
def test_other_work_is_not(fun):
    assert folded(fun, 1.0) is None


def test_work_in_bodies_is_counted_at_the_line_that_calls_them():
    @jax.jit
    def inner(y):
        return jnp.sin(y) + 1

    def f(x):
        return lax.cond(x > 0, lambda: inner(TABLE) * x, lambda: TABLE * x)

    hazard = folded(f, 1.0)
    assert "(sin, add)" in hazard.what
    assert Path(hazard.file).name == "test_hazards.py"


def test_typed_keys_and_references_are_no_hazards():
    keys = jax.random.split(jax.random.key(0), 9)
    reference = jax.new_ref(jnp.arange(64.0))

    def f(x):
        return jax.vmap(jax.random.uniform)(keys) + reference[0] + x

    assert kinds(f, 1.0) == []
