"""The command line of the user: which of it the children get, and what stays the user's own."""

import json

import pytest

from parity_tests.suites.stock_runs.arguments import without_ours
from parity_tests.suites.stock_runs.child.constparity_stock_child import cut, plain_id

SUITE = """
def test_one(): pass
def test_two(): assert not ON_SIMPLIFIED
def test_three(): assert 0
def test_four(): assert 0
"""


@pytest.fixture(scope="module")
def folder(plant):
    return plant(SUITE)


@pytest.mark.parametrize(
    ("arguments", "last_line"),
    [
        (["-k", "one or two"], "1 failed, 1 passed, 2 deselected"),
        (["-x"], "1 failed, 1 passed"),
        (["--maxfail=2"], "2 failed, 1 passed"),
        (["test_it.py::test_one"], "1 passed"),
        (["-k", "nothing"], "4 deselected"),
    ],
)
def test_choosing_is_pytests(run, folder, arguments, last_line):
    assert run(folder, *arguments).last_line == last_line


def test_a_run_that_only_collects_says_that_no_test_ran(run, folder):
    done = run(folder, "--collect-only", "--constparity-report=md:suite.md")
    assert done.code == 0
    assert "--collect-only: no test ran, so nothing was compared" in done.printed
    assert (done.result.tests, done.result.sides) == (0, ())
    assert (folder / "suite.md").read_text().startswith("# constparity: no test ran")


def test_failures_first_are_those_of_the_parent(run, folder):
    run(folder, "-k", "one or two", "--cache-clear")
    kept = json.loads((folder / ".pytest_cache/v/cache/lastfailed").read_text())
    assert kept == {"test_it.py::test_two": True}
    done = run(folder, "--lf")
    assert done.last_line == "1 failed"
    assert [side.counts for side in done.result.sides] == [{"passed": 1}, {"failed": 1}]


@pytest.mark.parametrize("option", ["--lf", "--ff", "--sw"])
def test_a_test_of_one_side_runs_whatever_failed_before(plant, run, option):
    folder = plant("""
def test_one(): pass
if ON_SIMPLIFIED:
    def test_of_one_side(): assert 0
""")
    for _ in range(2):  # nothing had failed yet, then this test had
        assert run(folder, option).last_line == "1 failed, 1 passed"


def test_what_stepwise_leaves_out_does_not_run(plant, run):
    folder = plant("""
def test_one(): Path("runs.txt").open("a").write("one ")
def test_two(): assert not ON_SIMPLIFIED
""")
    run(folder, "--sw")
    (folder / "runs.txt").unlink()
    assert run(folder, "--sw").last_line == "1 failed, 1 deselected"
    assert not (folder / "runs.txt").exists()


def test_no_test_runs_where_none_failed_and_none_was_asked_for(run, folder):
    done = run(folder, "--lf", "--lfnf=none", "--cache-clear")
    assert [side.counts for side in done.result.sides] == [{}, {}]


def test_addopts_count_once(plant, run):
    folder = plant({"pytest.ini": "[pytest]\naddopts = -k one -v\n", "test_it.py": SUITE})
    done = run(folder, "--maxfail=3")
    assert done.last_line == "1 passed, 3 deselected"
    given = done.result.arguments
    assert (given[:3], given[-1]) == (("-k", "one", "-v"), "--maxfail=3")
    assert str(folder) not in " ".join(given)  # nor what the children need beside them


def test_a_conftest_above_the_suite_is_no_part_of_it(plant, run):
    folder = plant({"conftest.py": "assert 0", "suite/test_it.py": "def test_one(): pass"})
    (folder / "pytest.ini").unlink()
    assert run(folder / "suite").last_line == "1 passed"


def test_plugins_that_are_off_have_no_options_and_warn_of_none(plant, run):
    text = "[pytest]\nfilterwarnings = error\n"
    folder = plant({"pytest.ini": text, "test_it.py": "def test_one(): pass"})
    done = run(folder, "-p", "no:cacheprovider", "-p", "no:logging", "-W", "error")
    assert done.last_line == "1 passed"


def test_the_mode_may_stand_in_the_configuration(plant, run):
    text = "[pytest]\naddopts = -p parity_tests.suites.plugin --constparity jax-both\n"
    done = run(plant({"pytest.ini": text, "test_it.py": SUITE}), plain=True)
    assert done.last_line == "3 failed, 1 passed"


def test_files_of_the_user_are_the_parents(plant, run):
    folder = plant("def test_one(tmp_path): (tmp_path / 'file').touch()")
    run(folder, "--junitxml=junit.xml", "--log-file=log.txt", "--basetemp=temporary")
    assert (folder / "junit.xml").read_text().count("<testcase ") == 1
    assert not (folder / "log.txt").read_text()
    assert {each.name for each in folder.iterdir()} - {"__pycache__"} == {
        *("pytest.ini", "test_it.py", "suite.json", ".pytest_cache"),
        *("junit.xml", "log.txt", "temporary"),
    }
    sides = ["0-first-jax-legacy-1", "0-first-jax-simplified-1"]
    assert sorted(each.name for each in (folder / "temporary").iterdir()) == sides


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["--constparity=jax-both", "-q"], ["-q"]),
        (["--constparity", "jax-both", "-q"], ["-q"]),
        (["--constparity-update", "tests"], ["tests"]),
        (["--constparity-python", "a", "--constparity-python=b", "tests"], ["tests"]),
        (["-p", "constparity", "-pparity_tests.suites.plugin", "-p", "x"], ["-p", "x"]),
        (["-k", "a b", "--", "--constparity"], ["-k", "a b", "--", "--constparity"]),
    ],
)
def test_our_own_options_are_taken_out(given, kept):
    assert without_ours(given, {"constparity_update"}) == kept


@pytest.mark.parametrize(
    ("test", "plain"),
    [
        ("t.py::test_a@group", "t.py::test_a"),
        ("t.py::test_a[x@y]@group", "t.py::test_a[x@y]"),
        ("t.py::test_a[x@y]", "t.py::test_a[x@y]"),
        ("a@b/t.py::test_a", "a@b/t.py::test_a"),
    ],
)
def test_a_group_of_xdist_is_no_part_of_the_test(test, plain):
    assert plain_id(test, True) == plain
    assert plain_id(test, False) == test


def test_a_cut_text_has_its_end():
    text = cut("x" * 20_000 + "the end")
    assert text.endswith("the end")
    assert "12007 characters left out" in text


@pytest.mark.parametrize("option", ["--pdb", "--trace", "--constparity-baseline=b.txt"])
def test_what_reaches_no_other_process_is_refused(run, folder, option):
    done = run(folder, option)
    assert done.code == 4
    assert f"--constparity=jax-both takes no {option.partition('=')[0]}" in done.printed
