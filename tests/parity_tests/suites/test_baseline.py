"""The baseline: each other state than the accepted one fails, and only an update changes it."""

import tomllib
from pathlib import Path

import built_suites as built
import pytest

from parity_tests.suites.known import baseline as baselines
from parity_tests.suites.known.baseline import Accepting, Baseline, BaselineError, read_baseline
from parity_tests.suites.known.portable import PortableNames
from parity_tests.suites.known.selection import Selection

HERE = baselines.platform_of(built.result().versions)
STEP = "model.py:step(float32[4])"
TEST = "test_model.py::test_step"
NAMES = PortableNames(Path("/srv"), Path("/srv"))


def selection(*completed, **changes):
    given = dict.fromkeys(("skipped", "failed", "deselected", "lost"), frozenset())
    ran = {"completed": frozenset(completed), "part": "", "root": Path("/srv")}
    return Selection(**given | ran | changes)


WHOLE = selection(TEST)


@pytest.fixture
def written(tmp_path):
    """Writes a baseline with the states of some programs, and returns its path."""

    def write(platform=HERE, **states):
        file = tmp_path / "baseline.toml"
        entries = {f"model.py:{name}(float32[4])": Accepting(state, TEST)
                   for name, state in states.items()}  # fmt: skip
        file.write_text(baselines.rendered({platform: entries}))
        return file

    return write


def changes(file, result, selected=WHOLE):
    rows = read_baseline(str(file), False, NAMES).changes(result, selected, HERE)
    return {each.program: (each.accepted, each.found, each.what_to_do.split(":")[0])
            for each in rows}  # fmt: skip


def updated(file, result, selected=WHOLE):
    read_baseline(str(file), True, NAMES).update(result, selected, HERE)
    return tomllib.loads(Path(file).read_text())


@pytest.mark.parametrize(
    ("accepted", "program", "differences", "said"),
    [
        ("bitwise", {}, (), None),
        ("bitwise", {"rung": "ulp"}, (), "it is worse than accepted"),
        ("ulp", {}, (), "it is better than accepted"),
        ("mismatch", {"rung": "mismatch"}, (built.difference(),), None),
        ("bitwise", {"rung": None}, (built.failure("a"),), "it is worse than accepted"),
        ("failure", {"rung": None}, (built.failure("a"),), None),
        ("not compared", {"rung": None}, (), None),
        (
            "bitwise",
            {},
            (built.difference(leaf=None, property="sharding of x"),),
            "it is worse than accepted",
        ),
        ("bitwise, sharding", {}, (), "it is better than accepted"),
    ],
)
def test_any_other_state_fails(written, accepted, program, differences, said):
    result = built.result(built.program(**program), differences=differences)
    found = changes(written(step=accepted), result)
    assert [each[2] for each in found.values()] == ([said] if said else [])


def test_new_programs_and_stale_entries_fail(written):
    found = changes(written(gone="ulp"), built.result(built.program()))
    assert found == {
        STEP: ("", "bitwise", "it is new"),
        "model.py:gone(float32[4])": ("ulp", "", "no test runs it"),
    }


@pytest.mark.parametrize(
    ("selected", "is_stale"),
    [
        (WHOLE, True),
        (selection("other"), True),  # the test of the entry is gone
        (selection("other", skipped=frozenset({TEST})), False),
        (selection("other", deselected=frozenset({TEST})), False),
        (selection("other", failed=frozenset({TEST})), False),
        (selection("other", lost=frozenset({"another"})), False),
        (selection("other", part="the run was of a.py alone"), False),
    ],
)
def test_an_entry_is_stale_only_if_its_test_ran_or_is_gone(written, selected, is_stale):
    file, result = written(step="bitwise", gone="ulp"), built.result(built.program())
    assert bool(changes(file, result, selected)) == is_stale
    kept = updated(file, result, selected)[HERE]
    assert ("model.py:gone(float32[4])" not in kept) == is_stale


def test_an_entry_is_not_stale_where_its_file_was_left_out(written, tmp_path):
    """As by a folder on the command line, or by a file that skips itself."""
    file, result = written(step="bitwise", gone="ulp"), built.result(built.program())
    selected = selection("other.py::test_it", root=tmp_path)
    assert changes(file, result, selected)
    (tmp_path / "test_model.py").touch()
    assert not changes(file, result, selected)
    assert changes(file, result, selection("test_model.py::test_other", root=tmp_path))


def test_a_run_of_a_part_makes_nothing_better(written):
    file, result = written(step="ulp"), built.result(built.program())
    part = selection(TEST, deselected=frozenset({"other"}))
    assert changes(file, result, part) == {}
    assert updated(file, result, part)[HERE][STEP]["state"] == "ulp"
    assert updated(file, result)[HERE][STEP]["state"] == "bitwise"


def test_an_update_leaves_other_platforms_alone_and_sorts(written):
    file = written("gpu, H200, jax 0.12.0, jaxlib 0.12.0", step="tolerance")
    result = built.result(built.program("b", name="z"), built.program("a", name="a"))
    assert [each for each in changes(file, result)] == [HERE]
    document = updated(file, result)
    assert list(document) == sorted([HERE, "gpu, H200, jax 0.12.0, jaxlib 0.12.0"])
    assert document["gpu, H200, jax 0.12.0, jaxlib 0.12.0"][STEP]["state"] == "tolerance"
    assert list(document[HERE]) == ["model.py:a(float32[4])", "model.py:z(float32[4])"]
    before = file.read_text()
    assert changes(file, result) == {}
    updated(file, result)
    assert file.read_text() == before


def test_lines_may_move_and_programs_of_one_name_have_the_worst_state(written):
    file = written(step="ulp")
    moved = built.program("a", source="model.py:99")
    assert changes(file, built.result(moved, built.program("b", rung="ulp"))) == {}


def test_an_accepted_difference_covers_no_other_program_of_its_name(written):
    """As of local functions `f` in many tests of a file."""
    file, one = written(step="mismatch"), built.program("a", rung="mismatch")
    assert changes(file, built.result(one, built.program("b", rung="ulp"))) == {}
    both = built.result(one, built.program("b", rung="mismatch", source="model.py:40"))
    found = ("mismatch", "mismatch, mismatch", "it is worse than accepted")
    assert changes(file, both) == {STEP: found}
    updated(file, both)
    assert changes(file, both) == {}
    assert changes(file, built.result(one)) == {
        STEP: (found[1], found[0], "it is better than accepted")
    }


def test_hostile_names_are_written_and_read_back(tmp_path):
    hostile = built.program(name=built.HOSTILE, source=f"{built.HOSTILE}:3")
    file, result = tmp_path / "baseline.toml", built.result(hostile)
    updated(file, result)
    assert changes(file, result) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[a", "cannot be read"),
        ("a = 3", "not a baseline"),
        ("[a]\nf = 3", "the entry of 'f' must have a state and a test"),
        ('[a]\nf = { state = "fine", test = "" }', "the states are bitwise, ulp"),
    ],
)
def test_a_damaged_baseline_is_named(tmp_path, text, said):
    file = tmp_path / "baseline.toml"
    file.write_text(text)
    with pytest.raises(BaselineError) as raised:
        read_baseline(str(file), True, NAMES)
    assert said in str(raised.value)
    assert str(file) in str(raised.value)


TESTS = """
def test_scaled():
    scaled(2.0)


def test_same():
    jax.jit(lambda x: x + 1)(2.0)
"""


def test_a_suite_is_held_to_its_baseline(suite):
    both = ("--constparity=both", "--constparity-baseline=base.toml")
    suite.write(TESTS).plant()
    missing = suite.run(*both)
    assert missing.returncode == 4
    assert "does not exist; write it with --constparity-update" in missing.output
    accepting = suite.run(*both, "--constparity-update")
    assert accepting.outcomes == {"passed": 1, "xfailed": 1}, accepting.output
    assert accepting.returncode == 0
    [entries] = tomllib.loads((suite.folder / "base.toml").read_text()).values()
    assert entries == {
        "test_planted.py:<lambda>(float32[])": {
            "state": "bitwise",
            "test": "test_planted.py::test_same",
        },
        "test_planted.py:scaled(float32[])": {
            "state": "mismatch",
            "test": "test_planted.py::test_scaled",
        },
    }
    accepted = suite.run(*both, "-n2")
    assert accepted.outcomes == {"passed": 1, "xfailed": 1}, accepted.output
    assert accepted.returncode == 0
    (suite.folder / "conftest.py").unlink()  # the fault is fixed
    before = (suite.folder / "base.toml").read_text()
    better = suite.run(*both)
    assert better.returncode == 1
    assert any("it is better than accepted: record that with" in line for line in better.section)
    assert (suite.folder / "base.toml").read_text() == before


def test_a_baseline_is_not_changed_without_being_asked(written):
    assert not Baseline(Path("x"), {}).is_updated
    file = written(step="ulp")
    before = file.read_text()
    changes(file, built.result(built.program()))
    assert file.read_text() == before


def test_keys_are_the_same_in_another_checkout_environment_and_system(tmp_path):
    """A file of no project and no environment is named from its outermost package on."""
    package = tmp_path / "elsewhere" / "library" / "inner"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    same = {
        "/home/a/.venv/lib/python3.12/site-packages/eqx/_jit.py": "eqx/_jit.py",
        "/home/b/work/.venv/lib/python3.11/site-packages/eqx/_jit.py": "eqx/_jit.py",
        "/usr/lib/python3/dist-packages/eqx/_jit.py": "eqx/_jit.py",
        ".venv/lib/python3.12/site-packages/eqx/_jit.py": "eqx/_jit.py",
        r"C:\\b\\Lib\\site-packages\\eqx\\_jit.py": "eqx/_jit.py",
        r"src\\model.py": "src/model.py",
        "src/model.py": "src/model.py",
        "/srv/src/model.py": "src/model.py",
        str(package / "model.py"): "library/inner/model.py",
        "<string>": "<string>",
        "": "",
    }
    assert {file: NAMES.of_file(file) for file in same} == same
    in_a_folder = PortableNames(Path("/srv"), Path("/srv/tests"))
    assert in_a_folder.of_file("test_model.py") == "tests/test_model.py"
    assert in_a_folder.of_file("../../srv/src/model.py") == "src/model.py"


@pytest.mark.parametrize(
    "path",
    ["/home/a/model.py", r"C:\\a\\model.py", ".venv/lib/python3.11/site-packages/eqx/_jit.py"],
)
def test_a_path_of_another_machine_is_refused_and_an_update_leaves_it_out(tmp_path, path):
    file = tmp_path / "baseline.toml"
    key = f"{path}:step(float32[4])"
    file.write_text(baselines.rendered({HERE: {key: Accepting("ulp", TEST)}}))
    with pytest.raises(BaselineError, match=r"has a path of another machine; write the file again"):
        read_baseline(str(file), False, NAMES)
    assert list(updated(file, built.result(built.program()))[HERE]) == [STEP]
