"""Programs of the built-in corpus, collected and read back, compute the same bits."""

import contextlib
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import engine
from engine import api
from engine.runtime import watching
from parity_tests import targets
from parity_tests.reduce.stand_alone_file import Written
from parity_tests.suites.collected.collector import Collector, candidate
from parity_tests.suites.collected.folder import (
    Candidate,
    CollectedProgram,
    CollectionFolder,
    Ran,
    prepare,
)
from parity_tests.suites.collected.hooks import summary_lines

MODULES = ("control_flow", "derivatives", "kinds_of_arrays", "prng", "plain_jax")
PROGRAMS = {
    f"{module}:{each.name}": each
    for module in MODULES
    for each in targets.load([f"parity_tests.corpus.{module}"])
}
NOT_WRITTEN = {
    "control_flow:batched_while": "while: its condition for each of a batch, bool[4]",
    "derivatives:checkpoint_with_policy": "its policy",
    "plain_jax:sparse_matrix_object": "bcoo_dot_general: it is not in jax.extend.core.primitives",
    "plain_jax:cholesky_of_captured": "platform_index: it is not in jax.extend.core.primitives",
    "plain_jax:callback_on_captured": "pure_callback: it is not in jax.extend.core.primitives",
}


@pytest.mark.parametrize("orders", [(0, 1), (1, 0)])
def test_the_file_is_that_of_the_first_test_whoever_comes_first(orders, tmp_path):
    """As when two processes run tests of one program in any order."""
    (tmp_path / "rows").mkdir()
    prepare(tmp_path / "corpus")
    folder = CollectionFolder(tmp_path / "corpus", tmp_path / "rows")
    for order in orders:
        folder.keep(of_a_test(f"test_{order}", order))
    assert [row.test for row in folder.rows()] == ["test_0"]
    assert (tmp_path / "corpus" / "fun.py").read_text() == "test_0"
    folder.finish(folder.rows(), stopped="")
    kept = {each.name for each in (tmp_path / "corpus").iterdir()}
    assert kept == {"fun.py", "fun.npz", "index.json"}


def of_a_test(test, order):
    row = CollectedProgram(identity="1", name="fun", source="", test=test, file="fun.py", why="")
    return Candidate(row, order, Written(test, test.encode()))


def test_a_file_without_room_for_its_text_leaves_no_arrays(tmp_path):
    (tmp_path / "fun.py").mkdir()  # stands in the way of the text alone
    with pytest.raises(OSError, match=r"fun.py': it is a folder"):
        Written("text", b"arrays").save(tmp_path / "fun.py")
    assert [each.name for each in tmp_path.iterdir()] == ["fun.py"]


@contextlib.contextmanager
def collecting(into):
    """Let the candidates of what runs in this block be written to a folder."""
    found = []

    def watcher(execution):
        made = candidate(execution, Ran("a test", 0), Path.cwd())
        if made.written:
            made.written.save(into / made.row.file)
        found.append(made.row)
        return execution.run()

    before = watching.watcher()
    api.forget_calls()
    watching.watch(watcher)
    try:
        yield found
    finally:
        watching.watch(before)


def bits(result):
    leaves = jax.tree.leaves(result)
    is_key = [jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key) for x in leaves]
    hosts = [
        np.asarray(jax.random.key_data(x) if key else x)
        for x, key in zip(leaves, is_key, strict=True)
    ]
    return [(str(x.dtype), x.shape, x.tobytes()) for x in hosts]


@pytest.mark.parametrize(
    ("name", "side"),
    [
        *((name, "simplified") for name in PROGRAMS),
        # What a side changes is where an array stands, whatever the program does with it.
        *((name, "legacy") for name in PROGRAMS if name.startswith(("kinds_of_arrays:", "prng:"))),
    ],
)
def test_the_same_bits_come_back(name, side, tmp_path):
    fun, args, kwargs = PROGRAMS[name].build()
    with collecting(tmp_path) as rows:
        expected = engine.jit(fun, constants=side)(*args, **kwargs)
    [why] = [row.why for row in rows]
    assert why.endswith(NOT_WRITTEN.get(name, ""))
    assert bool(why) == (name in NOT_WRITTEN)
    if not why:
        [program] = targets.load([str(tmp_path)])
        assert program.name == Path(rows[0].file).stem
        fun, args, _ = program.build()
        assert bits(engine.jit(fun, constants=side)(*args)) == bits(expected)


def test_a_file_donates_what_its_program_did(tmp_path):
    with collecting(tmp_path) as rows:
        engine.jit(lambda x, y: (x + y, y), donate_argnums=0)(jnp.ones(4), jnp.ones(4))
    assert rows[0].lost == ()
    for _ in range(2):  # each call has arguments of its own
        [program] = targets.load([str(tmp_path)])
        assert program.build_with_jit().options["donate_argnums"] == (0,)
        fun, args, _ = program.build_as_written()
        np.testing.assert_array_equal(fun(*args)[0], 2.0)
        assert [each.is_deleted() for each in args] == [True, False]


def test_a_file_is_one_jitted_function_whatever_it_calls(tmp_path):
    with collecting(tmp_path) as rows:
        engine.jit(lambda x: jax.jit(jnp.sin)(x) + 1)(jnp.ones(4))
    assert rows[0].lost == ()
    [program] = targets.load([str(tmp_path)])
    assert program.build_with_jit().is_own


@jax.custom_jvp
def with_a_rule(x):
    return 2 * x


with_a_rule.defjvp(lambda primals, tangents: (with_a_rule(*primals), 3 * tangents[0]))


def test_what_a_file_has_not_is_named_and_raises_rather_than_lies(tmp_path):
    here = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    with collecting(tmp_path) as rows:
        engine.jit(lambda x: with_a_rule(x), out_shardings=here)(1.0)
    [row] = rows
    of_options, of_rules = row.lost
    assert of_options == "its out_shardings"
    assert of_rules.startswith("the rules of its custom derivatives: ")
    assert f"Without {'; '.join(row.lost)}." in (tmp_path / row.file).read_text()
    [program] = targets.load([str(tmp_path)])
    fun, args, _ = program.build()
    assert fun(*args)[0] == 2
    with pytest.raises(TypeError):
        jax.jvp(lambda x: fun(x)[0], (1.0,), (1.0,))
    assert [line.partition(": ")[0] for line in summary_lines("corpus", rows)] == [
        "1 program written",
        "written without its out_shardings",
        "written without the rules of its custom derivatives",
    ]


# -- arrays that are one array ---------------------------------------------------------------------

CPU = jax.devices()[0]


def captured_and_passed():
    table = jnp.ones(64)
    engine.jit(lambda x: x + table)(table)


def numpy_captured_and_passed():
    table = np.ones(64, np.float32)
    engine.jit(lambda x: x + table)(table)


def numpy_written_to_since():
    table = np.ones(64, np.float32)
    jitted = engine.jit(lambda x: x + table)
    jitted.trace(table)
    table[0] = 2
    jitted(table)


def passed_twice():
    x = jnp.ones(64)
    engine.jit(lambda x, y: x + y)(x, x)


def of_equal_value():
    table = jnp.ones(64)
    engine.jit(lambda x: x + table)(jnp.ones(64))


def views():
    x = np.ones(64, np.float32)
    engine.jit(lambda x, y, z: x + y - z)(x[:48], x[:48], x[16:])


def committed_when_passed():
    table = jnp.ones(64)
    engine.jit(lambda x: x + table)(jax.device_put(table, CPU))


def committed_when_captured():
    x = jnp.ones(64)
    table = jax.device_put(x, CPU)
    engine.jit(lambda x: x + table)(x)


@pytest.mark.parametrize(
    ("call", "made"),
    [
        (captured_and_passed, {"c0": "array", "x0": "c0"}),
        (numpy_captured_and_passed, {"c0": "array", "x0": "c0"}),
        (numpy_written_to_since, {"c0": "array", "x0": "array"}),
        (passed_twice, {"x0": "array", "x1": "x0"}),
        (of_equal_value, {"c0": "array", "x0": "array"}),
        (views, {"x0": "array", "x1": "x0", "x2": "array"}),
        (committed_when_passed, {"c0": "committed array", "x0": "c0"}),
        (committed_when_captured, {}),
    ],
)
@pytest.mark.parametrize("side", ["legacy", "simplified"])
def test_an_array_that_is_in_two_places_is_one_array_in_the_file(call, made, side, tmp_path):
    with collecting(tmp_path) as rows, engine.use_simplified_constants(side == "simplified"):
        call()
    [row] = rows
    assert row.why.startswith("a captured array and an argument are on one buffer") == (not made)
    assert [each.partition(":")[0] for each in row.lost] == [
        "the memory that NumPy arguments of it share" for _ in range(call is views)
    ]
    lines = (tmp_path / row.file).read_text().splitlines() if row.file else []
    found = dict(line.strip().split(" = ") for line in lines if line.startswith(("    c", "    x")))
    assert {name: described(value) for name, value in found.items()} == made


def described(value):
    committed = "committed " if "device_put" in value else ""
    return f"{committed}array" if "arrays[" in value else value


def test_a_call_that_donates_what_it_captured_is_collected_beside_one_that_does_not(tmp_path):
    (tmp_path / "rows").mkdir()
    prepare(tmp_path / "corpus")
    folder, before = CollectionFolder(tmp_path / "corpus", tmp_path / "rows"), watching.watcher()
    collector = Collector(tmp_path, lambda: Ran("a test", 0))
    collector.install(())
    collector.open(folder)
    try:
        table = jnp.ones(64)
        step = engine.jit(lambda x: x + table, donate_argnums=0)
        for x in (jnp.ones(64), jnp.ones(64), table):
            step(x)
    finally:
        watching.watch(before)
    texts = {(tmp_path / "corpus" / row.file).read_text() for row in folder.rows()}
    assert sorted("    x0 = c0\n" in each for each in texts) == [False, True]
