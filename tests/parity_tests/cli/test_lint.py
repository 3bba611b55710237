"""`lint`: its output, exit statuses, fixes and reports."""

import json
import re
import sys

import pytest
import sarif_pydantic
from pydantic import BaseModel

from parity_tests.cli import app
from parity_tests.lint.rules import CODES, EXPLANATIONS
from parity_tests.observe.environment import version

BAD = "import jax\nprint(len(jax.make_jaxpr(f)(x).consts))\n"
LIKELY = "import jax\ndef f(jaxpr): return len(jaxpr.consts)\n"
FIXABLE = "from jax.core import Literal\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_finding_is_a_line_and_exit_status_1(folder, capsys):
    (folder / "bad.py").write_text(BAD)
    (folder / "likely.py").write_text(LIKELY)
    assert app.main(["lint", "."]) == 1
    first, second, last = capsys.readouterr().out.splitlines()
    assert first.startswith("bad.py:2:11: CP101 captured arrays are counted here")
    assert second.endswith("(likely)")
    assert last == "2 findings in 2 files"


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"good.py": "import jax\n"}, 0),
        ({"broken.py": "import jax\nx = (\nx.consts"}, 2),
        ({"broken.py": "import jax\nx = (\nx.consts", "bad.py": BAD}, 1),
        ({"notes.txt": BAD}, 5),
        ({"book.ipynb": "{}"}, 5),
    ],
)
def test_the_exit_status(folder, capsys, files, code):
    for name, text in files.items():
        (folder / name).write_text(text)
    assert app.main(["lint", "."]) == code
    assert app.main(["lint", ".", "--exit-zero"]) == 0
    said = capsys.readouterr()
    assert ("broken.py was not linted: line" in said.err) == ("broken.py" in files)
    assert ("notebooks are not linted" in said.out) == ("book.ipynb" in files)


def test_codes_are_chosen(folder, capsys):
    (folder / "bad.py").write_text(BAD)
    assert app.main(["lint", ".", "--select", "CP1"]) == 1
    assert app.main(["lint", ".", "--select", "CP2,CP3"]) == 0
    assert app.main(["lint", ".", "--ignore", "CP101"]) == 0
    assert app.main(["lint", ".", "--select", "CP1", "--ignore", "CP101"]) == 0
    assert app.main(["lint", ".", "--select", "CP1", "--ignore", "CP1"]) == 4
    assert app.main(["lint", ".", "--select", "CP9"]) == 4
    assert "there is no rule 'CP9'" in capsys.readouterr().err


def test_confidence_is_chosen(folder):
    (folder / "likely.py").write_text(LIKELY)
    assert app.main(["lint", "."]) == 1
    assert app.main(["lint", ".", "--confidence", "high"]) == 0


@pytest.mark.parametrize("code", CODES)
def test_each_code_is_explained(code, capsys):
    assert app.main(["lint", "--explain", code]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{code}: ")
    assert EXPLANATIONS[code] in said
    assert "What to do:" in said


def test_a_group_of_codes_is_explained(capsys):
    assert app.main(["lint", "--explain", "CP10,CP201"]) == 0
    titles = re.findall(r"^CP\d+(?=: )", capsys.readouterr().out, re.MULTILINE)
    assert titles == [each for each in CODES if each.startswith("CP10") or each == "CP201"]


def test_a_wrong_use_is_said(folder, capsys):
    assert app.main(["lint"]) == 4
    assert "name files or folders" in capsys.readouterr().err
    assert app.main(["lint", "--explain", "CP999"]) == 4
    assert app.main(["lint", ".", "--report", "html:x.html"]) == 4


def test_fixes_are_shown_and_written(folder, capsys):
    (folder / "old.py").write_text(FIXABLE)
    assert app.main(["lint", ".", "--diff"]) == 0
    shown = capsys.readouterr().out
    assert "-from jax.core import Literal\n+from jax.extend.core import Literal\n" in shown
    assert (folder / "old.py").read_text() == FIXABLE
    assert app.main(["lint", ".", "--fix", "--diff"]) == 0
    assert (folder / "old.py").read_text() == FIXABLE
    assert app.main(["lint", ".", "--fix"]) == 0
    assert (folder / "old.py").read_text() == "from jax.extend.core import Literal\n"
    assert "fixed: old.py" in capsys.readouterr().out


def test_a_difference_without_a_fix_says_so(folder, capsys):
    (folder / "reads.py").write_text(BAD)
    for options in (["--diff"], ["--fix", "--diff"]):
        assert app.main(["lint", "reads.py", *options]) == 1
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err == (
            "constparity: 1 finding in 1 file without a fix; they are shown without --diff\n"
        )


def test_a_file_that_cannot_be_written_is_said(folder, capsys, monkeypatch):
    from parity_tests.lint import fixing

    def refuse(file, before, after):
        raise OSError(30, "Read-only file system", str(file))

    (folder / "old.py").write_text(FIXABLE)
    monkeypatch.setattr(fixing, "write_back", refuse)
    assert app.main(["lint", ".", "--fix"]) == 3
    assert "Read-only file system" in capsys.readouterr().err


def test_whoever_is_interrupted_sees_what_was_found_so_far_and_no_report(
    folder, capsys, monkeypatch
):
    from parity_tests.lint import run

    def read(file):
        if file.name == "endless.py":
            raise KeyboardInterrupt
        return file.read_bytes()

    for name in ("bad.py", "endless.py", "later.py"):
        (folder / name).write_text(BAD)
    monkeypatch.setattr(run, "_read", read)
    assert app.main(["lint", ".", "--report", "json:o.json"]) == 130
    said = capsys.readouterr()
    finding, last = said.out.splitlines()
    assert finding.startswith("bad.py:2:11: CP101 captured arrays are counted here")
    assert last == "1 finding in 1 file"
    assert said.err == "constparity: interrupted; 2 files not linted\n"
    assert not (folder / "o.json").exists()


def test_names_outside_utf8_are_reported(folder, capsys):
    (folder / "a\udcff.py").write_text(BAD)
    assert app.main(["lint", ".", "--report", "json:o.json", "--report", "sarif:o.sarif"]) == 1
    assert json.loads((folder / "o.json").read_text())["findings"][0]["file"] == "a\\udcff.py"
    assert "a%FF.py" in (folder / "o.sarif").read_text()


def test_reports_are_written_in_both_formats(folder, capsys):
    (folder / "a b é.py").write_text(BAD)
    (folder / "broken.py").write_text("import jax\nx = (\nx.consts")
    assert app.main(["lint", ".", "--report", "sarif:o.sarif", "--report", "json:o.json"]) == 1
    report = json.loads((folder / "o.json").read_text())
    [finding] = report.pop("findings")
    assert "after the flip they are Literals" in finding.pop("message")
    assert finding == {
        "code": "CP101", "file": "a b é.py", "line": 2, "column": 11, "confidence": "high",
        "is_fixable": False,
    }  # fmt: skip
    reason = "line 3, column 1: it is no Python"
    unread = [{"file": "broken.py", "reason": reason, "is_failure": True}]
    assert report == {"constparity": version(), "files": 1, "unread": unread}
    [run] = json.loads((folder / "o.sarif").read_text())["runs"]
    [result] = run["results"]
    assert result["ruleId"] == "CP101"
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "CP101"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20b%20%C3%A9.py"
    assert place["region"] == {"startLine": 2, "startColumn": 11}
    assert not run["invocations"][0]["executionSuccessful"]


def test_a_report_may_go_to_standard_output(folder, capsys):
    (folder / "bad.py").write_text(BAD)
    assert app.main(["lint", ".", "--report", "sarif:-"]) == 1
    said = capsys.readouterr()
    log = sarif_pydantic.Sarif.model_validate_json(said.out)
    assert [each.rule_id for each in log.runs[0].results] == ["CP101"]
    assert list(unknown_fields(log)) == []
    assert "bad.py:2:11: CP101" in said.err


def unknown_fields(value):
    """The fields that the other implementation of SARIF does not know; it lacks `columnKind`."""
    if isinstance(value, BaseModel):
        yield from set(value.model_extra or ()) - {"columnKind"}
        for name in type(value).model_fields:
            yield from unknown_fields(getattr(value, name))
    elif isinstance(value, list):
        for each in value:
            yield from unknown_fields(each)


def test_without_libcst_the_extra_is_named(folder, capsys, monkeypatch):
    for name in [each for each in sys.modules if each.startswith(("libcst", "parity_tests.lint"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "libcst", None)
    assert app.main(["lint", "."]) == 4
    assert "install constparity[lint]" in capsys.readouterr().err
