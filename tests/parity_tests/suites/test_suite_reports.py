"""`--constparity-report`: written after the tests, and refused before them."""

import json
import os

import pytest
from waiting import await_

from parity_tests.cli import app
from reports import formats_of
from reports.output.json_file import load_result

TESTS = """
@jax.jit
def step(x):
    return {"loss": x * TABLE}


def test_step():
    step(2.0)


def test_fine():
    jax.jit(lambda x: x + 1)(2.0)
"""


def test_every_format_of_a_difference(suite, capsys):
    suite.write(TESTS).plant()
    asked = [f"--constparity-report={each}:out/{each}" for each in formats_of("suite")]
    run = suite.run("--constparity=both", *asked)
    assert run.returncode == 1
    out = suite.folder / "out"
    assert sorted(os.listdir(out)) == sorted(formats_of("suite"))
    assert sum("report: " in line for line in run.section) == len(formats_of("suite"))
    result = load_result(out / "json")
    assert [each.name for each in result.programs] == ["step", "<lambda>"]
    assert [each.test for each in result.failing] == ["test_planted.py::test_step"]
    assert result.versions.device_kind == "cpu"
    [found] = json.loads((out / "sarif").read_text())["runs"][0]["results"]
    region = found["locations"][0]["physicalLocation"]["region"]
    lines = (suite.folder / "test_planted.py").read_text().splitlines()
    assert "x * TABLE}" in lines[region["startLine"] - 1]
    drawn = out / "later.html"
    assert app.main(["report", str(out / "json"), "--report", f"html:{drawn}"]) == 0
    assert drawn.read_text() == (out / "html").read_text()


def test_help_names_every_format(suite):
    """By hand: the plugin cannot import the table, for a suite may have a package `reports`."""
    told = " ".join(suite.write("").run("--help").stdout.split())
    assert f"write a report: {', '.join(formats_of('suite'))}; repeatable" in told


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["both", "report=htlm:out.html"], "illegal report 'htlm:out.html'"),
        (["both", "report=csv:out.csv"], "FORMAT one of html, md, comment"),
        (["both", "report=html:-"], "pytest has the standard output"),
        (["both", "report=html:a", "report=md:./a"], "two reports to one file"),
        (["both", "report=html:test_planted.py/a"], "is a file, not a folder"),
        (["legacy", "report=html:a"], "compares nothing; use --constparity=both"),
        (["off", "report=html:a"], "use --constparity=both"),
        (["both", "update"], "name the file with --constparity-baseline=FILE"),
    ],
)
def test_what_cannot_be_written_is_refused_before_any_test(suite, options, said):
    suite.write("open('imported', 'w')")
    mode, *others = options
    run = suite.run(f"--constparity={mode}", *(f"--constparity-{each}" for each in others))
    assert run.returncode == 4, run.output
    assert said in run.output
    assert not (suite.folder / "imported").exists()


def test_a_report_that_could_not_be_written_is_no_success(suite):
    tests = """
    import pathlib, shutil


    def test_removes_the_folder():
        shutil.rmtree("out")
        pathlib.Path("out").write_text("in the way")
    """
    run = suite.write(tests).run(
        "--constparity=both", "--constparity-report=md:out/a.md", "--constparity-report=json:b.json"
    )
    assert run.outcomes == {"passed": 1}
    assert run.returncode == 1
    assert any("cannot write the report" in line for line in run.section)
    assert (suite.folder / "b.json").exists()


def test_a_run_that_only_collects_says_that_no_test_ran(suite):
    suite.write("def test_one(): assert 0", head="")
    run = suite.run("--constparity=both", "--constparity-report=md:a.md", "--collect-only")
    assert run.returncode == 0
    said = "--collect-only: no test ran, so nothing was compared"
    assert any(said in line for line in run.section)
    assert said in (suite.folder / "a.md").read_text().replace("\\", "")


def test_a_whole_suite_in_which_nothing_was_compared_is_no_success(suite):
    suite.write("def test_plain(): assert True\n\n\ndef test_other(): assert True", head="")
    report = ("--constparity-report=junit:a.xml", "--constparity-report=md:a.md")
    for mode, became in (("both", "compared"), ("prove", "proved")):
        said = f"nothing was {became}: 2 tests passed, and none ran a function of jax.jit"
        whole = suite.run(f"--constparity={mode}", *report)
        assert whole.returncode == 1
        assert any(line.startswith(said) for line in whole.section)
        assert said in (suite.folder / "a.md").read_text().replace("\\", "")
        assert said in (suite.folder / "a.xml").read_text()
        of_a_part = suite.run(f"--constparity={mode}", "-k", "plain")
        assert of_a_part.returncode == 0
        assert not any(line.startswith("nothing was") for line in of_a_part.section)


def test_an_xfailed_test_makes_no_success_of_a_suite_in_which_nothing_was_compared(suite):
    xfailed = "import pytest\n\n\n@pytest.mark.xfail\ndef test_x():\n    assert 0"
    for tests in (xfailed, f"{xfailed}\n\n\ndef test_plain(): pass"):
        run = suite.write(tests, head="").run("--constparity=both")
        assert run.returncode == 1
        assert any(line.startswith("nothing was compared: ") for line in run.section)
    fails = suite.write("def test_fails(): assert 0", head="").run("--constparity=both")
    assert not any(line.startswith("nothing was") for line in fails.section)


def test_the_project_asks_for_reports_below_its_own_folder(suite):
    suite.write(TESTS)
    (suite.folder / "pyproject.toml").write_text(
        '[tool.constparity.pytest]\nreport = ["md:out/a.md"]\nsees = "simplified"\n'
    )
    run = suite.run("--constparity=both")
    assert run.returncode == 0, run.output
    assert "the tests saw simplified" in (suite.folder / "out" / "a.md").read_text()
    over = suite.run(
        "--constparity=both", "--constparity-report=md:b.md", "--constparity-sees=legacy"
    )
    assert over.returncode == 0
    assert "the tests saw legacy" in (suite.folder / "b.md").read_text()
    assert "the tests saw simplified" in (suite.folder / "out" / "a.md").read_text()
    # Nobody who does not ask for the plugin hears of its settings.
    (suite.folder / "pyproject.toml").write_text("[tool.constparity.pytest]\nreprot = []\n")
    assert suite.run().returncode == 0
    wrong = suite.run("--constparity=both")
    assert wrong.returncode == 4
    assert "has no setting 'reprot'; the settings are sees, python, timeout" in wrong.output


@pytest.mark.deep
def test_the_report_is_the_same_for_any_number_of_workers(suite):
    suite.write(TESTS + "\n\ndef test_again():\n    step(3.0)\n").plant()
    suite.run("--constparity=both", "--constparity-report=json:one.json")
    suite.run("--constparity=both", "--constparity-report=json:two.json", "-n2")
    one, two = ((suite.folder / f"{each}.json").read_text() for each in ("one", "two"))
    assert one == two


def test_a_process_that_dies_has_its_reports_written(suite):
    suite.write(TESTS + "\n\ndef test_zz_dies():\n    import os\n    os._exit(9)\n").plant()
    run = suite.run("--constparity=both", "--constparity-report=json:out/a.json")
    assert run.returncode == 9
    written = suite.folder / "out" / "a.json"
    await_(written.exists)
    result = load_result(written)
    assert [each.test for each in result.lost] == ["test_planted.py::test_zz_dies"]
    assert [each.name for each in result.failing] == ["step"]
    assert "the process of the tests died" in result.outside[0]
