"""Collecting: what a planted suite compiled becomes files that a campaign runs."""

import json
import subprocess
import sys

import numpy as np
import pytest
from planted_suites import Suite

from parity_tests.cli import app

# Programs of all kinds; `scaled` of the head of each planted suite is run by several tests.
SUITE = """
import numpy as np

NUMPY = np.linspace(0, 1, 64, dtype=np.float32)
ON_IMPORT = jax.jit(lambda: TABLE.sum())()


def test_first():
    scaled(2.0)


def test_with_other_elements():
    scaled(3.0)


@pytest.mark.parametrize("n", range(4))
def test_traced_again_with_another_array(n):
    weights = np.full(64, n, np.float32)

    @jax.jit
    def weighted(x):
        return x @ weights

    weighted(NUMPY)


def test_kinds_of_arguments():
    @jax.jit
    def mixed(python, whole, flag, array, weak, key, empty, half):
        drawn = jax.random.normal(key, (2,))
        return python * array + whole, flag, weak, drawn, empty.sum(), half * TABLE[0]

    key = jax.random.key(3, impl="rbg")
    weak = jnp.asarray(2.0)
    mixed(1.5, 3, True, NUMPY, weak, key, np.zeros((0, 3)), jnp.ones(2, jnp.bfloat16))


def test_donated():
    x = jnp.ones(64)
    jax.jit(lambda x: x + TABLE, donate_argnums=0)(x)
    assert x.is_deleted()


def test_callback():
    @jax.jit
    def called_back(x):
        return jax.pure_callback(np.asarray, jax.ShapeDtypeStruct((), np.float32), x)

    assert called_back(np.float32(2)) == 2


def test_effect():
    seen = []

    @jax.jit
    def printed(x):
        jax.debug.callback(lambda x: seen.append(float(x)), x)
        return x

    printed(2.0)
    jax.effects_barrier()
    assert seen == [2.0]


def test_too_large():
    @jax.jit
    def large(x):
        return x[0]

    large(np.zeros(17 * 2**20, np.float32))


def test_directory_elsewhere(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    @jax.jit
    def elsewhere(x):
        return x - TABLE

    elsewhere(2.0)


@pytest.fixture(scope="module")
def torn_down():
    yield
    jax.jit(lambda x: x / TABLE)(2.0)


def test_with_a_teardown(torn_down):
    pass


def test_in_a_thread():
    @jax.jit
    def threaded(x):
        return x % TABLE

    thread = threading.Thread(target=threaded, args=(3.0,))
    thread.start()
    thread.join()
"""


def collected(suite, *options, folder="corpus"):
    """Run a suite, and return the run, the folder and the rows of its index by name."""
    run = suite.run(f"--constparity-collect={folder}", *options)
    index = json.loads((suite.folder / folder / "index.json").read_text())
    return run, suite.folder / folder, {row["name"]: row for row in index["programs"]}


def contents(folder):
    return {each.name: each.read_bytes() for each in folder.iterdir()}


def section(run):
    """The lines of the summary that are about the collection."""
    _, found, rest = run.output.partition(" constparity: collected programs ===")
    return rest.splitlines()[1:] if found else []


@pytest.fixture(scope="module")
def planted(tmp_path_factory, server):
    suite = Suite(tmp_path_factory.mktemp("planted"), server).write(SUITE)
    return suite, *collected(suite)


def test_each_program_is_there_once_with_the_test_that_ran_it_first(planted):
    suite, run, folder, rows = planted
    assert run.returncode == 0, run.output
    assert set(run.outcomes) == {"passed"}
    found = {name: row["test"].partition("::")[2] for name, row in rows.items() if row["file"]}
    assert found == {
        "scaled": "test_first",
        "weighted": "test_traced_again_with_another_array[0]",
        "mixed": "test_kinds_of_arguments",
        "elsewhere": "test_directory_elsewhere",
        "threaded": "test_in_a_thread",
        "<lambda>": found["<lambda>"],  # three of them
    }
    assert len(list(folder.glob("*.py"))) == 5 + 3
    assert rows["elsewhere"]["source"].startswith("test_planted.py:")
    header = (folder / rows["scaled"]["file"]).read_text().splitlines()[0]
    line = next(
        number
        for number, line in enumerate((suite.folder / "test_planted.py").read_text().split("\n"))
        if line == "@jax.jit"
    )
    assert header == (
        f'"""`scaled` (test_planted.py:{line + 1}), as test_planted.py::test_first ran it first.'
    )


def test_what_cannot_be_written_is_named(planted):
    _, run, _, rows = planted
    assert {name: row["why"] for name, row in rows.items() if not row["file"]} == {
        "called_back": "pure_callback: it is not in jax.extend.core.primitives",
        "printed": "debug_callback: its effects Debug",
        "large": "its arrays have 71,303,168 bytes, and a file has 67,108,864 of them at most",
    }
    lines = section(run)
    assert lines[0] == "8 programs written: constparity run corpus"
    assert len([line for line in lines if line.startswith("not written: ")]) == 3


def test_arrays_lie_beside_without_pickles(planted):
    _, _, folder, rows = planted
    for file in folder.glob("*.npz"):
        with np.load(file, allow_pickle=False) as stored:
            assert {stored[name].dtype for name in stored.files} == {np.dtype(np.uint8)}
    with np.load((folder / rows["scaled"]["file"]).with_suffix(".npz")) as stored:
        assert stored["x0"].view(np.float64) == [2.0]  # as the first test passed it
        assert np.array_equal(stored["c0"].view(np.float32), np.arange(64))


@pytest.mark.parametrize("options", [("-n3", "--dist=worksteal"), ("--constparity=simplified",)])
def test_the_files_are_the_same_for_any_number_of_processes_and_on_each_side(planted, options):
    suite, _, folder, _ = planted
    other = "_".join(options).replace("--", "").replace("=", "_")
    run, again, _ = collected(suite, *options, folder=other)
    assert run.returncode == 0, run.output
    assert contents(again) == contents(folder)


def test_shadow_mode_compares_while_it_collects(planted):
    suite, _, folder, _ = planted
    run, again, _ = collected(suite, "--constparity=both", folder="both")
    assert "ran on both pipelines" in run.output
    assert contents(again) == contents(folder)


HAZARD = """
import numpy as np

ANGLES = jnp.linspace(0.0, 50.0, 2048)
EXACT = (np.exp(np.asarray(ANGLES, np.float64) * -0.1) * 1e8).astype(np.float32)


@jax.jit
def cancels(x):
    window = jnp.exp(jnp.multiply(ANGLES, -0.1))
    return ((window * 1e8 - EXACT) * 1e-9 * x).at[0].set(jnp.inf)


def test_it_is_finite_elsewhere():
    assert jnp.isfinite(cancels(np.float32(1.0))[1:]).all()
    scaled(2.0)
"""


def test_the_corpus_shows_what_the_tests_did_not_look_at(suite, monkeypatch, capsys):
    """XLA folds a window of captured angles in legacy alone, and rounds it differently."""
    run, folder, rows = collected(suite.write(HAZARD))
    assert run.outcomes == {"passed": 1}
    monkeypatch.chdir(folder.parent)
    status = app.main(["run", folder.name, "--sides", "legacy,simplified", "--no-attribution"])
    printed = capsys.readouterr().out
    assert status == 1, printed
    name = rows["cancels"]["file"].removesuffix(".py")
    assert f"{name} (corpus/{name}.py" in printed
    assert "outputs are different" in printed or "mismatch" in printed
    alone = subprocess.run(
        [sys.executable, folder / f"{name}.py"], capture_output=True, text=True, timeout=300
    )
    assert alone.returncode == 1, alone.stdout + alone.stderr
    assert "elements differ" in alone.stdout
    quiet = rows["scaled"]["file"].removesuffix(".py")
    assert f"{quiet} (corpus" not in printed


CRASHES = """
import os


def test_first():
    scaled(2.0)


def test_crashes():
    scaled(jnp.ones(64))
    jax.jit(lambda x: x + TABLE)(2.0)
    if not os.path.exists("no_crash"):
        os._exit(3)
"""


def test_a_crash_loses_nothing_that_was_written(suite):
    run, folder, rows = collected(suite.write(CRASHES), "-p", "no:xdist")
    assert (run.returncode, rows) == (3, {})  # nobody was left to write the index
    crashed = contents(folder)
    assert len(list(folder.glob("*.py"))) == 3
    (suite.folder / "no_crash").touch()
    _, _, rows = collected(suite)
    assert {**contents(folder), "index.json": crashed["index.json"]} == crashed
    assert {row["file"] for row in rows.values()} <= set(crashed)


def test_programs_of_a_worker_that_crashes_are_in_the_index(suite):
    run, folder, _ = collected(suite.write(CRASHES), "-n", "1")
    assert run.returncode == 1
    index = json.loads((folder / "index.json").read_text())
    files = {row["file"] for row in index["programs"]}
    assert files == {each.name for each in folder.glob("*.py")}
    assert len(files) == 3


def test_a_full_disk_fails_the_session_and_no_test(suite):
    """A limit on the size of files stands for it: the second program's arrays exceed it."""
    tests = """
    import resource

    import numpy as np


    def test_first():
        scaled(2.0)


    def test_full():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
        jax.jit(lambda x: x + 1)(np.zeros(100_000, np.float32))


    def test_after_it():
        scaled(jnp.ones(64))
    """
    suite.write(tests)
    for options in (("-p", "no:xdist"), ("-n", "1")):
        folder = f"corpus{len(options[0])}"
        run, there, rows = collected(suite, *options, folder=folder)
        assert run.returncode == pytest.ExitCode.INTERNAL_ERROR, run.output
        assert run.outcomes == {"passed": 3}
        assert "ERROR: collecting stopped: cannot write " in run.output
        assert ".npz': the folder " in run.output
        assert "(File too large)" in run.output
        index = json.loads((there / "index.json").read_text())
        assert "File too large" in index["stopped"]
        assert list(rows) == ["scaled"]
        file = rows["scaled"]["file"]
        assert set(contents(there)) == {"index.json", file, file.replace(".py", ".npz")}


def test_an_earlier_collection_stays_and_files_of_others_too(suite):
    suite.write("def test_first():\n    scaled(2.0)\n")
    _, folder, before = collected(suite)
    (folder / "mine.py").write_text("MINE = 1\n")
    suite.write("def test_second():\n    jax.jit(lambda x: x + TABLE)(2.0)\n")
    run, _, after = collected(suite)
    assert section(run)[0] == "1 program written: constparity run corpus"
    assert set(before) | {"<lambda>"} == set(after)
    assert (folder / before["scaled"]["file"]).exists()
    assert (folder / "mine.py").read_text() == "MINE = 1\n"


@pytest.mark.parametrize(
    ("plant", "options", "said"),
    [
        (None, ["--constparity=jax-both"], "jax-both runs stock JAX, which shows no programs"),
        ("corpus", [], "'{}/corpus' is a file; name a folder"),
        ("corpus/mine.txt", [], "'{}/corpus' is not empty and holds no collection"),
        ("corpus/index.json", [], "'{}/corpus/index.json' is no index of a collection"),
    ],
)
def test_usage(suite, plant, options, said):
    suite.write("def test_first():\n    raise SystemError('ran')\n")
    if plant:
        file = suite.folder / plant
        file.parent.mkdir(exist_ok=True)
        file.write_text('{"schema_version": 2, "versions": {}}')
    run = suite.run("--constparity-collect=corpus", *options)
    assert run.returncode == pytest.ExitCode.USAGE_ERROR, run.output
    assert said.format(suite.folder) in run.output
    assert "Traceback" not in run.output
    assert not plant or file.read_text().startswith('{"schema')


def test_no_test_notices(suite):
    """Arrays die when their last reference goes, and nothing is traced or run that would not be."""
    tests = """
    import gc
    import weakref

    import numpy as np


    def test_arrays_are_not_kept():
        array, captured = jnp.ones(64) * 2, jnp.ones(64) * 3
        refs = [weakref.ref(array), weakref.ref(captured)]

        def collected_here():
            jax.jit(lambda x: x * captured)(array)

        collected_here()
        del array, captured, collected_here
        jax.clear_caches()
        gc.collect()
        assert [ref() for ref in refs] == [None, None]


    def test_transfers_may_be_forbidden_and_everything_checked():
        with jax.transfer_guard("disallow"), jax.checking_leaks(), jax.debug_nans(True):
            scaled(TABLE)


    def test_an_exception_is_the_programs_own():
        with pytest.raises(TypeError, match="scaled"):
            scaled("text")


    def test_the_state_of_jax_is_left():
        before = dict(jax.config.values)
        jax.jit(lambda x: x + np.float64(1))(2.0)
        assert jax.config.values == before
    """
    run, _, _ = collected(suite.write(tests))
    assert run.outcomes == {"passed": 4}, run.output
