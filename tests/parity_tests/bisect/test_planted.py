"""Sites planted in commands over libraries: each is found, and nothing where nothing is planted.

CONSTPARITY_TEST_PLANTED=all takes all of them (`make deep`), each among sites of libraries; in half
of the commands, these are the libraries' own tests.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from program_files import program_file

from parity_tests.bisect.bisecting import Bisecting
from parity_tests.bisect.kept_runs import KeptRuns
from parity_tests.bisect.running import Ended, Runner, Until
from parity_tests.bisect.sites import Flips
from reports.rows.bisection import Bisection, StockEnds

PLANTED = {
    "reader": "exit", "overwritten": "exit", "donated": "exit", "helper_of_a_helper": "exit",
    "branch": "exit", "chaos": r"value:orbit=(\S+) 1e-4", "together": "exit", "placement": "exit",
    "two_devices": "exit", "committed": "exit", "text_of_module": "exit", "memory": "exit",
    "guarded": "exit", "twice": "exit", "derivative": "exit", "scanned": "exit", "thread": "exit",
    "child": "exit",
    "model": "exit",
    "equinox_reader": "exit", "optimiser": "exit", "flaky": "exit",
}  # fmt: skip
# Tests of libraries, in which a plugin of pytest plants what the key names.
CASTING, SMOOTHING = "optax.tree_utils._casting_test", "optax.losses._smoothing_test"
UPDATE = "optax._src.update_test"
ADDING = "optax.transforms._adding_test::AddingTest::test_add_decayed_weights"
FACTORIZED = "optax._src.factorized_test::FactorizedTest::"
PRIVACY = "optax.contrib._privacy_test::DifferentiallyPrivateAggregateTest::"
MONITORING = "optax.transforms._monitoring_test::MonitoringTest::"
CONSTRAINING = "optax.transforms._constraining_test::ConstraintsTest::"
EINSUM = "opt_einsum.tests.test_backends::"
MANY = (
    SMOOTHING, CASTING, UPDATE, f"{FACTORIZED}test_scale_by_factored_rms", f"{EINSUM}test_jax",
    f"{EINSUM}test_jax_with_constants",
)  # fmt: skip
IN_TESTS = {
    "library_reader": (SMOOTHING, UPDATE),
    "library_overwritten": (CASTING, UPDATE),
    "library_donated": (f"{FACTORIZED}test_scale_by_factored_rms", UPDATE),
    "library_branch": (SMOOTHING, UPDATE),
    "one_of_many": (f"{EINSUM}test_jax", UPDATE),
    "in_a_fixture": MANY,
    "chaos": ("optax.transforms._layouts_test", UPDATE),
    "helper_of_a_helper": (f"{MONITORING}test_monitor", UPDATE),
    "together": (CASTING, UPDATE),
    "thread": (f"{CONSTRAINING}test_zero_nans", UPDATE),
    "child": (ADDING, UPDATE),
    "flaky": (CASTING,),
    "placement": ("optax._src.lookahead_test",),
    "committed": ("optax.contrib._complex_valued_test",),
    "two_devices": ("scipy.cluster.tests.test_vq::TestWhiten",),
    "guarded": (ADDING, SMOOTHING),
    "text_of_module": (f"{EINSUM}test_jax_with_constants",),
    "memory": (f"{MONITORING}test_snapshot", UPDATE),
    "twice": (f"{FACTORIZED}test_gradient_accumulation0",),
    "derivative": (f"{PRIVACY}test_no_privacy", UPDATE),
    "scanned": ("optax.tree_utils._random_test::RandomTest::test_tree_split_key_like", UPDATE),
    "model": (f"{CONSTRAINING}test_keep_params_nonnegative",),
    "equinox_reader": ("optax.schedules._join_test", UPDATE),
    "optimiser": ("optax.transforms._freezing_test::FreezeTest::test_nested_freeze_all", UPDATE),
    "nothing": MANY,
}
BY_VALUE = {"chaos": r"value:orbit=(\S+) 1e-4", "one_of_many": r"value:(\d+) passed 0"}
WORKERS = ("library_branch", "one_of_many")  # once more, with two workers of pytest-xdist
FILE = program_file("bisect/planted")
PLUGIN = program_file("bisect/planted_in_tests")
ALL = os.environ.get("CONSTPARITY_TEST_PLANTED") == "all"


def bisected(command: Sequence[str], folder: Path, until: str) -> Bisection:
    kept = KeptRuns(folder / "runs.jsonl")
    return Bisecting(Runner(command, timeout=600.0), Until.of(until), kept).run()


def check_found(found: Bisection, name: str) -> None:
    """Check that the lines to blame are those that were planted, within the bound."""
    said = f"{name}: {found.runs} runs, at most {found.bound} for one of {found.sites} sites"
    print(f"\n{said}; {found.seconds:.0f} s, stock {found.stock.off} {found.stock.on}")
    if name == "nothing":
        assert (found.answer, found.sets) == ("passes", ())
        return
    marked = {
        (file.name, number)
        for file in (FILE, PLUGIN)
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if line.rstrip().endswith(f"# {name}")
    }
    if name == "out_of_reach":
        assert (found.answer, found.sets) == ("not reached", ())
        [told] = found.not_switched
        assert {os.path.basename(told.partition(" ")[0])} == {f"{file}:{n}" for file, n in marked}
        return
    [only] = found.sets
    lines = {(os.path.basename(site.file), site.line) for site in only.sites}
    assert lines == ({("<string>", 2)} if name == "child" else marked)
    assert len(only.sites) > 1 or found.runs <= found.bound or name == "flaky"


@pytest.mark.parametrize("name", [*PLANTED, "nothing", "out_of_reach"] if ALL else ["together"])
def test_what_is_planted_is_found(name: str, tmp_path: Path) -> None:
    command = (sys.executable, str(FILE), name, *(() if ALL else ("alone",)))
    check_found(bisected(command, tmp_path, PLANTED.get(name, "exit")), name)


@pytest.mark.skipif(not ALL, reason="CONSTPARITY_TEST_PLANTED=all runs tests of libraries")
@pytest.mark.parametrize(
    ("name", "workers"),
    [*((name, 0) for name in IN_TESTS), *((name, 2) for name in WORKERS)],
)
def test_what_is_planted_in_a_library_is_found_by_its_own_tests(
    name: str, workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in {test.partition("::")[0] for test in IN_TESTS[name]}:
        if importlib.util.find_spec(module.rpartition(".")[0]) is None:
            pytest.skip(f"this release of {module.partition('.')[0]} has no tests in its wheel")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(PLUGIN.parent))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # its tests take JAX's arrays as well
    plugins = ("-p", "no:cacheprovider", "-p", "planted_in_tests", "--planted", name)
    in_workers = ("-p", "xdist", "-n", str(workers)) if workers else ()
    options = (*plugins, "-s", *in_workers, "--pyargs", *IN_TESTS[name])
    command = (sys.executable, "-m", "pytest", *options)
    check_found(bisected(command, tmp_path, BY_VALUE.get(name, "exit")), name)


@pytest.mark.skipif(not ALL, reason="CONSTPARITY_TEST_PLANTED=all runs a notebook")
@pytest.mark.parametrize(
    ("needs", "command"),
    [
        ("IPython", ("-m", "IPython")),
        ("nbconvert", ("-m", "nbconvert", "--execute", "--to", "notebook", "--stdout")),
    ],
)
def test_the_line_of_a_cell_is_found(needs: str, command: tuple[str, ...], tmp_path: Path) -> None:
    pytest.importorskip(needs, reason=f"{needs} runs notebooks and is not installed")
    notebook = str(FILE.with_suffix(".ipynb"))
    found = bisected((sys.executable, *command, notebook), tmp_path, "exit")
    [[site]] = [each.sites for each in found.sets]
    assert re.fullmatch(r"float32\[32] at cell \w+:2 \(doubled\), captured by .*", site.words)
    assert (site.code, found.stock) == (
        "return state * 2 + table  # notebook",
        StockEnds(off=False, on=True),
    )
    assert found.runs <= found.bound


def outcomes(ended: Ended) -> dict[str, str]:
    """What became of each program, and what it printed."""
    lines = [line.split(maxsplit=1) for line in ended.output.splitlines() if line.strip()]
    found = {line[0]: line[1] for line in lines if line[0] in PLANTED}
    printed = [line[0] for line in lines if line[0].startswith("orbit=")]
    return {**found, "chaos": printed[0]}


def test_what_is_flipped_behaves_as_stock_jax_does_after_the_flip() -> None:
    runner = Runner((sys.executable, str(FILE), "each", "alone"), timeout=300.0)
    before, after = (outcomes(runner.flipped(Flips.of(text))) for text in ("none", "all"))
    assert before == outcomes(runner.on_stock(flag=False))
    assert after == outcomes(runner.on_stock(flag=True))
    assert {name for name in PLANTED if before.get(name) != after.get(name)} == {
        name for name in PLANTED if name not in ("flaky", "model", "equinox_reader", "optimiser")
    }
