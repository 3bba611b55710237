"""Programs with a hazard, each beside a look-alike without one; for a process of a stock side.

Prints as JSON, for each program, the kinds of hazards that are detected, and what happens when it
runs. After the flip, the hazards are also read off the trace of a measurement.
"""

import contextlib
import json
import os
import sys
import tempfile
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.pjit import pjit
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

from parity_tests.observe import hazards
from parity_tests.observe.measure import measure
from parity_tests.program import from_function
from tests.helpers.hijax_primitives import expanding

FIRST, SECOND = jax.devices()
MESH = Mesh(np.array([FIRST, SECOND]), ("x",))
ON_SECOND = jax.device_put(np.arange(64, dtype=np.float32), SECOND)
ON_FIRST = jax.device_put(np.arange(64, dtype=np.float32) + 1, FIRST)
ANYWHERE = jnp.arange(64.0) + 2
SHARDED = jax.device_put(np.arange(64, dtype=np.float32), NamedSharding(MESH, PartitionSpec("x")))
REPLICATED = jax.device_put(np.ones(64, np.float32), NamedSharding(MESH, PartitionSpec()))
REVERSED = jax.device_put(
    np.ones(64, np.float32), NamedSharding(Mesh(np.array([SECOND, FIRST]), ("x",)), PartitionSpec())
)
X = np.ones(64, np.float32)
STATED = SingleDeviceSharding(SECOND)
EXPLICIT = Mesh(np.array([FIRST, SECOND]), ("x",), axis_types=(AxisType.Explicit,))
TYPED = jax.device_put(np.arange(64.0), NamedSharding(EXPLICIT, PartitionSpec("x")))


def aligned():
    """A NumPy array whose memory is 64-byte aligned."""
    memory = np.zeros(64 * 4 + 64, np.uint8)
    start = -memory.ctypes.data % 64
    array = memory[start : start + 64 * 4].view(np.float32)
    array[:] = 1
    return array


HELD = aligned()


def read_only(array):
    view = array.view()
    view.flags.writeable = False
    return view


def read_only_copy():
    copy = np.frombuffer(aligned().tobytes(), np.float32)
    assert not copy.flags.writeable
    return copy


def mapped(file):
    """A file of ones, and an array that maps it and can only be read."""
    np.ones(64, np.float32).tofile(file)
    return np.memmap(file, np.float32, mode="r")


FOLDER = tempfile.TemporaryDirectory()
FILE = Path(FOLDER.name) / "weights"


def adds(captured):
    return lambda: (lambda x: x + captured, (X,))


def adds_to(argument, *captured):
    return lambda: (lambda x: sum(captured, x), (argument,))


def donates(captured, argument, **options):
    return lambda: (jax.jit(lambda x: x + captured, donate_argnums=0, **options), (argument,))


def donates_unread(captured, **options):
    function = jax.jit(lambda x, y: y + captured, donate_argnums=0, **options)
    return lambda: (function, (captured, X))


def maps(captured):
    specs = PartitionSpec()
    mapped = jax.shard_map(lambda x: x + captured, mesh=MESH, in_specs=specs, out_specs=specs)
    return lambda: (mapped, (X,))


def maps_with(captured, argument):
    """A program that adds up what a `shard_map` makes of a captured array and an argument."""
    specs = PartitionSpec("x")
    mapped = jax.shard_map(
        lambda x, y: jax.lax.psum(x * y, "x"), mesh=MESH, in_specs=specs, out_specs=PartitionSpec()
    )
    return lambda: (lambda x: mapped(captured, x), (argument,))


def maps_beside(captured, argument):
    specs = PartitionSpec("x")
    mapped = jax.shard_map(lambda x: x * 2, mesh=MESH, in_specs=specs, out_specs=specs)
    return lambda: (lambda x: x * captured + mapped(x).sum(), (argument,))


def constrains(captured):
    spec = NamedSharding(MESH, PartitionSpec())
    return lambda: (lambda x: jax.lax.with_sharding_constraint(x + captured, spec), (X,))


def states(captured):
    spec = NamedSharding(MESH, PartitionSpec())
    return lambda: (jax.jit(lambda x: x + captured, out_shardings=spec), (X,))


def reads_one_of_two(argument, **options):
    """A program that leaves its first argument unread."""
    return lambda: (jax.jit(lambda x, y: y + ON_SECOND, **options), (argument, X))


def has_dead_code(**options):
    return lambda: (jax.jit(lambda x: (x * ON_FIRST, x + 1)[1], **options), (X,))


def moves(place, captured=ON_SECOND):
    return lambda: (lambda x: jax.device_put(x, place) + captured, (X,))


def calls_a_jit(captured=ON_SECOND, **options):
    inner = jax.jit(lambda y, unread: y + 1, **options)
    return lambda: (lambda x: inner(x, x) + captured, (X,))


def calls_back(*_):
    jax.debug.callback(lambda _: None, ON_SECOND)


PROGRAMS = {
    "writeable": adds(WRITEABLE := aligned()),
    "writeable, in what a primitive expands to": lambda: (expanding(lambda x: x + HELD), (X,)),
    "writeable through its base": adds(read_only(HELD)),
    "writeable through nobody's base": adds(read_only(aligned())),
    "writeable by another view": adds(np.frombuffer(memoryview(HELD).toreadonly(), np.float32)),
    "a file that is mapped": adds(MAPPED := mapped(FILE)),
    "of another library": adds(np.from_dlpack(ANYWHERE)),
    "of a jax.Array": adds(np.asarray(ANYWHERE)),
    "read-only": adds(read_only_copy()),
    "a jax.Array": adds(ANYWHERE),
    "small and writeable": lambda: (lambda x: x[:8] + np.ones(8, np.float32), (X,)),
    "donated": donates(GONE := jnp.arange(64.0), GONE),
    "donated by another on its buffer": donates(
        LENT := jnp.arange(64.0), jax.device_put(LENT, LENT.device)
    ),
    "donated where its sharding puts it": donates(
        PUT := jnp.arange(64.0), PUT, in_shardings=SingleDeviceSharding(FIRST)
    ),
    "donated and moved by its sharding": donates(
        MOVED := jnp.arange(64.0), MOVED, in_shardings=STATED
    ),
    "donated and unread": donates_unread(jnp.arange(64.0)),
    "donated, unread and kept": donates_unread(jnp.arange(64.0), keep_unused=True),
    "an equal array donated": donates(ANYWHERE, jnp.array(ANYWHERE)),
    "captured and passed": lambda: (jax.jit(lambda x: x + ANYWHERE), (ANYWHERE,)),
    "argument elsewhere": adds_to(ON_FIRST, ON_SECOND),
    "two captured apart": adds_to(X, ON_FIRST, ON_SECOND),
    "argument on the same devices in another order": adds_to(REPLICATED, REVERSED),
    "two captured in another order": adds_to(X, REPLICATED, REVERSED),
    "shard_map in another order": maps(REVERSED),
    "inputs elsewhere": lambda: (jax.jit(lambda x: x + ON_FIRST, in_shardings=STATED), (X,)),
    "outputs elsewhere": lambda: (jax.jit(lambda x: x + ON_FIRST, out_shardings=STATED), (X,)),
    "device elsewhere": lambda: (jax.jit(lambda x: x + ON_FIRST, device=SECOND), (ON_FIRST,)),
    "device of the captured": lambda: (
        jax.jit(lambda x: x + ON_SECOND, device=SECOND),
        (ON_FIRST,),
    ),
    "device, and nothing read": lambda: (jax.jit(lambda x: ON_SECOND, device=SECOND), (X,)),
    "returns nothing": lambda: (jax.jit(calls_back), (X,)),
    "returns nothing, on another device": lambda: (jax.jit(calls_back, device=FIRST), ()),
    "moved elsewhere": moves(STATED, ON_FIRST),
    "jit inside elsewhere": calls_a_jit(ON_FIRST, out_shardings=STATED),
    "captured elsewhere, under a mesh": adds_to(X, ON_FIRST),
    "argument on the same device": adds_to(ON_SECOND, ON_SECOND + 1),
    "uncommitted captured": adds_to(ON_SECOND, ANYWHERE),
    "output committed": adds_to(X, ON_SECOND),
    "unread argument committed": reads_one_of_two(ON_SECOND),
    "unread argument committed elsewhere": reads_one_of_two(ON_FIRST),
    "unread argument committed and kept": reads_one_of_two(ON_SECOND, keep_unused=True),
    "sharding of an unread argument": reads_one_of_two(X, in_shardings=(STATED, None)),
    "sharding of a read argument": reads_one_of_two(X, in_shardings=STATED),
    "sharding of an argument of two": lambda: (
        jax.jit(lambda x, y: x + y + ON_SECOND, in_shardings=(None, STATED)),
        (X, X),
    ),
    "read by dead code": has_dead_code(),
    "read by dead code, and unread arguments kept": has_dead_code(keep_unused=True),
    "moved to a device": moves(SECOND),
    "moved to a sharding": moves(STATED),
    "moved to a memory": moves(jax.memory.Space.Device, ON_FIRST),
    "moved to a memory elsewhere": moves(jax.memory.Space.Device, ON_SECOND),
    "argument moved by its sharding": lambda: (
        jax.jit(lambda x: x + REPLICATED, in_shardings=REPLICATED.sharding),
        (ON_FIRST,),
    ),
    "moved to a memory of the default device": moves(jax.memory.Space.Device, ON_SECOND),
    "moved to a memory beside the default device": moves(jax.memory.Space.Device, ON_FIRST),
    "jit inside": calls_a_jit(),
    "jit inside with a sharding": calls_a_jit(out_shardings=STATED),
    "jit inside with the sharding of an unread argument": calls_a_jit(in_shardings=(None, STATED)),
    "output committed, under a mesh": adds_to(X, ON_SECOND),
    "pjit, under a mesh": lambda: (pjit(lambda x: x + ON_SECOND), (X,)),
    "pjit, with a mesh": lambda: (pjit(lambda x: x + ON_SECOND), (X,)),
    "pjit, with a mesh elsewhere": lambda: (pjit(lambda x: x + ON_FIRST), (X,)),
    "jit, with a mesh": adds_to(X, ON_SECOND),
    "output sharded": adds_to(REPLICATED, SHARDED),
    "output sharded by its type": adds_to(TYPED, TYPED + 1),
    "both replicated": adds_to(REPLICATED, REPLICATED + 1),
    "captured apart from a shard_map": maps(ON_SECOND),
    "captured anywhere in a shard_map": maps(ANYWHERE),
    "captured on the mesh of a shard_map": maps_with(REPLICATED, X),
    "sharded operand of a shard_map": maps_with(SHARDED, REPLICATED),
    "replicated beside a shard_map": maps_beside(REPLICATED, X),
    "sharded beside a shard_map": maps_beside(SHARDED, REPLICATED),
    "sharded and constrained": constrains(SHARDED),
    "captured apart from a constraint": constrains(ON_SECOND),
    "sharding of outputs stated": states(SHARDED),
    "NumPy, guarded": adds_to(ANYWHERE, read_only_copy()),
    "NumPy, guarded, moved before": adds_to(ANYWHERE, jax.device_put(read_only_copy())),
    "NumPy, logged": adds_to(ANYWHERE, read_only_copy()),
    "uncommitted captured, guarded": adds_to(ON_SECOND, ANYWHERE),
    "outputs elsewhere, guarded between devices": lambda: (
        jax.jit(lambda x: x + ANYWHERE, out_shardings=STATED),
        (X,),
    ),
    "moved elsewhere, guarded between devices": moves(STATED, ANYWHERE),
    "another default device, guarded between devices": adds_to(X, ANYWHERE),
    "same device, guarded between devices": adds_to(X, ANYWHERE),
    "uncommitted captured, guarded, moved before": adds_to(
        ON_SECOND, jax.device_put(ANYWHERE, SECOND)
    ),
}


@contextlib.contextmanager
def around(name):
    """The mesh, the device or the transfer guard that a program runs under."""
    with contextlib.ExitStack() as stack:
        for each in contexts(name):
            stack.enter_context(each)
        yield


def contexts(name):
    if "under a mesh" in name:
        yield jax.set_mesh(Mesh(np.array([SECOND]), ("x",)))
    if "with a mesh" in name:
        yield Mesh(np.array([SECOND]), ("x",))
    if "default device" in name:
        yield jax.default_device(SECOND)
    if "guarded between devices" in name:
        yield jax.transfer_guard_device_to_device("disallow")
    elif "guarded" in name:
        yield jax.transfer_guard("disallow")
    elif "logged" in name:
        yield jax.transfer_guard("log")


def outcome(name, build):
    """The devices of the output, or the first words of what is raised."""
    fun, args = build()
    try:
        with around(name):
            result = (fun if hasattr(fun, "trace") else jax.jit(fun))(*args)
        jax.block_until_ready(result)
    except (ValueError, jax.errors.JaxRuntimeError) as error:
        return " ".join(str(error).split()[:5])
    if result is None:
        return "nothing"
    kind = "committed" if result.committed else "uncommitted"
    where = "/".join(str(device.id) for device in sorted(result.devices(), key=lambda d: d.id))
    replicated = "" if result.sharding.is_fully_replicated else " sharded"
    return f"{kind} {where}{replicated}"


def after_overwriting():
    fun = jax.jit(lambda x: x + WRITEABLE)
    fun(X).block_until_ready()
    WRITEABLE[:] = 7
    return float(fun(X)[0])


def after_writing_to_the_file():
    fun = jax.jit(lambda x: x + MAPPED)
    fun(X).block_until_ready()
    np.memmap(FILE, np.float32, mode="r+")[:] = 7
    return float(fun(X)[0])


def of_measurement(name, build):
    traces = hazards.MeasuredTraces()
    with traces.watching(), around(name):
        found = measure(from_function(build, name), "jax-simplified", on_traced=traces.note)
    return sorted({h.kind for h in traces.found().hazards}), found.observation.failure is None


def detected(name, build):
    with around(name):
        return sorted({h.kind for h in hazards.detect(from_function(build, name))})


if __name__ == "__main__":
    assert sys.argv[1:] in (["jax-legacy"], ["jax-simplified"])
    found = {name: detected(name, build) for name, build in PROGRAMS.items()}
    measured, fails = {}, []
    if sys.argv[1] == "jax-simplified":
        for name, build in PROGRAMS.items():
            measured[name], works = of_measurement(name, build)
            fails += [] if works else [name]
    runs = {"overwritten": after_overwriting(), "file overwritten": after_writing_to_the_file()}
    runs |= {name: outcome(name, build) for name, build in PROGRAMS.items()}
    print(json.dumps({"hazards": found, "measured": measured, "fails": fails, "runs": runs}))
