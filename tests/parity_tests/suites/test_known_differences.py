"""Lists of known differences: what they accept, and when an entry itself fails the run."""

import datetime
import textwrap

import pytest

from parity_tests.suites.known.accepted import Accepted, KnownFileError, matches, read_lists
from reports.output.json_file import load_result

TESTS = """
@jax.jit
def step(x):
    return {"loss": x * TABLE}


@pytest.mark.parametrize("n", [1, 2])
def test_step(n):
    step(2.0)


def test_scaled():
    scaled(1.0)


def test_same():
    jax.jit(lambda x: x + 1)(2.0)
"""


def listed(suite, *entries, name="known.toml"):
    (suite.folder / name).write_text(
        "# Known.\n" + "\n".join(f"[[known]]\n{each}\n" for each in entries)
    )


STEP = 'program = "step"\nmetric = "outputs"\nreason = "a sum in another order"\nissue = "#7"'
SCALED = 'test = "*::test_scaled"\nmetric = "outputs"\nreason = "as in #8"'
BOTH = (
    "--constparity=both",
    "--constparity-xfail=known.toml",
    "--constparity-report=json:out.json",
)


def states(suite):
    return {each.where: each.state for each in load_result(suite.folder / "out.json").known}


def test_known_differences_are_xfailed_and_new_ones_fail(suite):
    suite.write(TESTS).plant()
    listed(suite, STEP)
    run = suite.run(*BOTH, "-rx")
    assert run.outcomes == {"failed": 1, "passed": 1, "xfailed": 2}, run.output
    assert run.returncode == 1
    assert "a sum in another order (known.toml:2, #7)" in run.output
    assert "differences: 1 new, 2 known" in run.section
    assert any(
        line.startswith("known: legacy and simplified differ in `step`") for line in run.section
    )
    assert any(line.startswith("known: known.toml:2: outputs of `step`") for line in run.section)
    listed(suite, STEP, SCALED)
    run = suite.run(*BOTH)
    assert run.outcomes == {"passed": 1, "xfailed": 3}, run.output
    assert run.returncode == 0
    assert set(states(suite).values()) == {"known"}


def test_without_the_fault_the_entries_are_to_be_deleted(suite):
    suite.write(TESTS)
    misspelt = STEP.replace('"step"', '"stepp"')
    assert misspelt != STEP
    no_test = SCALED.replace("*::test_scaled", "test_planted.py::test_scald")
    listed(suite, STEP, SCALED, misspelt, no_test)
    run = suite.run(*BOTH)
    assert run.outcomes == {"passed": 4}
    assert run.returncode == 1
    first, _, last, scald = states(suite)
    assert "differences: 2 fixed, 2 matching nothing" in run.section
    assert set(states(suite).values()) == {"fixed"}
    [line] = [line for line in run.section if f"{first}:" in line]
    assert line.startswith("fixed: ")
    assert line.endswith("nothing differs there: delete the entry")
    [line] = [line for line in run.section if f"{last}:" in line]
    assert line.startswith("matches nothing: ")
    assert line.endswith(
        "no program that ran is called 'stepp'; did you mean step?: fix the entry, or delete it"
    )
    [line] = [line for line in run.section if f"{scald}:" in line]
    assert line.startswith("matches nothing: ")
    assert line.endswith(
        "no test is called 'test_planted.py::test_scald'; did you mean "
        "'test_planted.py::test_scaled'?: fix the entry, or delete it"
    )


def test_a_test_that_is_not_there_on_this_platform_is_not_misspelt(suite):
    suite.write(TESTS)
    other_device = SCALED.replace("*::test_scaled", "test_planted.py::test_step[gpu]")
    other_release = SCALED.replace("*::test_scaled", "test_planted.py::test_of_another_release")
    listed(suite, STEP, other_device, other_release)
    suite.run(*BOTH)
    assert [*states(suite).values()][1:] == ["not judged"] * 2


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["-k", "same"], "was not selected"),
        (["test_planted.py"], "the run was of test_planted.py alone"),
        (["--ignore=more"], "--ignore leaves out a part of the suite"),
    ],
)
def test_an_entry_is_not_judged_by_a_run_of_a_part(suite, options, why):
    suite.write(TESTS)
    listed(suite, STEP)
    run = suite.run(*BOTH, *options)
    assert run.returncode == 0, run.output
    assert any(line.startswith("not judged: known.toml:2") and why in line for line in run.section)


def test_a_folder_of_several_is_a_part(suite):
    for name in ("unit", "whole"):
        (suite.folder / name).mkdir()
    (suite.folder / "pytest.ini").write_text("[pytest]\ntestpaths = unit whole\n")
    suite.write("def test_same():\n    scaled(1.0)\n", name="unit/test_unit.py")
    listed(suite, STEP)
    run = suite.run(*BOTH, "unit")
    assert run.returncode == 0, run.output
    assert set(states(suite).values()) == {"not judged"}
    run = suite.run(*BOTH, "unit", "whole")
    assert run.returncode == 1, run.output


def test_skipped_and_crashed_tests_say_nothing(suite):
    more = """
    def test_ends():
        import os
        os._exit(3)


    def test_skips():
        pytest.skip("here")
    """
    suite.write(TESTS + textwrap.dedent(more))
    listed(suite, STEP, 'test = "*::test_skips"\nmetric = "outputs"\nreason = "x"')
    run = suite.run(*BOTH, "-n1", "--max-worker-restart=0")
    assert run.returncode == 1
    assert set(states(suite).values()) == {"not judged"}


@pytest.mark.parametrize("options", [["-x"], ["-x", "-n1"], ["--co"]])
def test_a_run_that_stops_early_judges_nothing(suite, options):
    suite.write(
        "def test_fine():\n    scaled(1.0)\n\ndef test_fails():\n    assert False\n" + TESTS
    )
    listed(suite, STEP)
    suite.run(*BOTH, *options)
    assert set(states(suite).values()) == {"not judged"}


def test_a_file_that_cannot_be_collected_judges_nothing(suite):
    suite.write("def test_fine():\n    scaled(1.0)\n")
    suite.write("import no_such_module", name="test_broken.py", head="")
    listed(suite, 'program = "step"\nmetric = "outputs"\nreason = "r"')
    assert suite.run(*BOTH).returncode == 2
    assert set(states(suite).values()) == {"not judged"}


def test_one_test_is_judged_in_any_run(suite):
    suite.write(TESTS)
    listed(suite, STEP.replace('program = "step"', 'test = "test_planted.py::test_step[1]"'))
    run = suite.run(*BOTH, "test_planted.py::test_step[1]")
    assert run.returncode == 1
    assert set(states(suite).values()) == {"fixed"}


def test_an_expired_entry_fails_with_its_reason(suite):
    suite.write(TESTS).plant()
    listed(suite, STEP + "\nexpires = 2020-01-31", SCALED + '\nuntil_jax = "0.4"')
    run = suite.run(*BOTH)
    assert run.outcomes == {"failed": 3, "passed": 1}
    assert (
        "expired: a sum in another order (known.toml:2, #7); valid until 2020-01-31" in run.output
    )
    assert "valid until jax 0.4: fix the difference, or renew the entry" in run.output
    assert set(states(suite).values()) == {"expired"}


def test_runxfail_leaves_the_lists_aside(suite):
    suite.write(TESTS).plant()
    listed(suite, STEP)
    assert suite.run(*BOTH, "--runxfail").outcomes == {"failed": 3, "passed": 1}


def test_a_known_difference_of_a_setup_lets_the_test_run(suite):
    tests = """
    @pytest.fixture
    def made():
        return scaled(1.0)


    def test_made(made):
        open("ran", "w")


    def test_fails(made):
        assert False, "its own"
    """
    suite.write(tests).plant()
    listed(suite, SCALED.replace("test_scaled", "test_*"))
    run = suite.run(*BOTH)
    assert run.outcomes == {"xfailed": 1, "failed": 1}, run.output
    assert (suite.folder / "ran").exists()
    assert "its own" in run.output


def test_the_project_names_its_lists_and_the_workers_read_them(suite):
    suite.write(TESTS).plant()
    listed(suite, STEP, SCALED, name="list.toml")
    (suite.folder / "pyproject.toml").write_text(
        '[tool.constparity.pytest]\nxfail = ["list.toml"]\n'
    )
    run = suite.run("--constparity=both", "-n2")
    assert run.outcomes == {"passed": 1, "xfailed": 3}, run.output
    assert any("list.toml:2" in line for line in run.section)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("known = 3", "must hold tables [[known]] alone"),
        ("[[know]]", "must hold tables [[known]] alone"),
        ("[[known", "cannot be read"),
        (
            '[[known]]\nprogram = "f"\nmetric = "outputs"',
            "known.toml:1: an entry must have a reason",
        ),
        (
            STEP.replace("reason", "raeson").join(["[[known]]\n", ""]),
            "no 'raeson'; it may have test",
        ),
        ('[[known]]\nmetric = "outputs"\nreason = "r"', "must name tests or programs"),
        (
            '\n[[known]]\ntest = "a"\nreason = "r"\nmetric = "time"',
            "known.toml:2: metric must be one",
        ),
        (
            '[[known]]\ntest = ""\nreason = "r"\nmetric = "failure"',
            "test must be a text that is not",
        ),
        (f'[[known]]\n{STEP}\nexpires = "2027-01-31"', "a date without quotes"),
        (f"[[known]]\n{STEP}\nexpires = 2027-01-31T10:00:00", "a date without quotes"),
        (f'[[known]]\n{STEP}\nuntil_jax = "soon"', "until_jax must be a version"),
    ],
)
def test_a_list_with_a_mistake_names_the_entry(tmp_path, monkeypatch, text, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "known.toml").write_text(text)
    with pytest.raises(KnownFileError) as raised:
        read_lists(["known.toml"])
    assert said in str(raised.value)


def test_a_mistake_is_a_usage_error_before_any_test(suite):
    suite.write("open('imported', 'w')")
    run = suite.run(*BOTH)
    assert run.returncode == 4
    assert "known.toml cannot be read" in run.output
    assert not (suite.folder / "imported").exists()


def test_globs_take_brackets_as_they_are():
    assert matches("a.py::test[1-*]", "a.py::test[1-float32]")
    assert not matches("a.py::test[1-*]", "a.py::test1")
    assert not matches("step", "step_2")
    assert matches("*model.py:step", "src/model.py:step")


def test_an_entry_names_an_installed_file_from_its_package_on(tmp_path):
    file = tmp_path / "known.toml"
    file.write_text(f"[[known]]\n{STEP}".replace('"step"', '"eqx/_jit.py:step"'))
    [entry] = read_lists([str(file)])
    for home in ("/home/a/.venv/lib/python3.11", "/usr/lib/python3.12"):
        assert entry.is_of("step", f"{home}/site-packages/eqx/_jit.py:3")
    assert not entry.is_of("step", "/home/a/eqx/_jit.py:3")


def test_an_entry_holds_until_the_end_of_its_day(tmp_path):
    file = tmp_path / "known.toml"
    file.write_text(f'[[known]]\n{STEP}\nexpires = 2027-01-31\nuntil_jax = "0.13"')
    [entry] = read_lists([str(file)])
    last = datetime.date(2027, 1, 31)
    assert not entry.is_expired(last, "0.12.9")
    assert entry.is_expired(last + datetime.timedelta(1), "0.12.9")
    assert entry.is_expired(last, "0.13.0")
    assert entry.valid_until == "2027-01-31 or jax 0.13"
    assert Accepted((entry,), today=last, jax="0.10").marked((), "cpu") == []
