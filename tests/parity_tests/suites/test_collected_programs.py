"""Programs of the built-in corpus, collected and read back, compute the same bits."""

import contextlib
from pathlib import Path

import jax
import numpy as np
import pytest

import engine
from engine import api
from engine.runtime import watching
from parity_tests import targets
from parity_tests.reduce.stand_alone_file import Written
from parity_tests.suites.collected.candidates import Candidate, Ran
from parity_tests.suites.collected.folder import CollectionFolder, prepare
from parity_tests.suites.collected.index import CollectedProgram
from parity_tests.suites.collected.writing import candidate

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


@pytest.mark.parametrize("side", ["legacy", "simplified"])
@pytest.mark.parametrize("name", PROGRAMS)
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
