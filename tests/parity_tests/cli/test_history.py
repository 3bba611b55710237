"""`constparity history` and `constparity compare --store`: what they print and exit with."""

import json
import os
import shutil
import subprocess
import sys
from typing import get_args

import built_grids as built
import pytest
from kept_runs import campaign, keep

from parity_tests.cli import app
from reports.kinds import ReportFormat, formats_of
from reports.output import json_file
from reports.rows import OutputLeaf
from reports.store import reading

SETPRIV = shutil.which("setpriv")
CAPABILITIES = "--bounding-set=-dac_override,-dac_read_search"
# The superuser writes everywhere, unless these capabilities are taken from it.
WITHOUT_PRIVILEGES = [SETPRIV, CAPABILITIES] if os.geteuid() == 0 else []


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.db"


@pytest.fixture
def two(path):
    """Two runs: a program breaks, and one is repaired."""
    keep(path, built.program("step"), built.program("init", "different"), built.program("same"))
    keep(path, built.program("step", "different"), built.program("init"), built.program("same"))
    return path


def test_runs_are_listed(two, capsys):
    keep(two, built.program("step"), finished=False)
    assert app.main(["history", "--store", str(two)]) == 0
    out = capsys.readouterr().out
    rows = [line.split("│")[1:-1] for line in out.splitlines() if line.startswith("│")]
    cells = [[cell.strip() for cell in row] for row in rows]
    assert cells == [
        ["1", "2026-11-01 10:00:00", "here", "0.10.2", "c0ffee0123", "3", "no"],
        ["2", "2026-11-01 10:00:00", "here", "0.10.2", "c0ffee0123", "3", "no"],
        ["3", "2026-11-01 10:00:00", "here", "0.10.2", "c0ffee0123", "1 of 1, no end", "yes"],
    ]
    assert app.main(["history", "--store", str(two), "--last", "1"]) == 0
    assert "2 earlier runs not shown (--last)" in capsys.readouterr().out


def test_a_run_is_shown_again_with_its_reports(path, tmp_path, capsys):
    result = keep(path, built.program("step"), built.program("init", "different"))
    file = tmp_path / "run.json"
    for where in (["show", "last", "--store", str(path)], ["--store", str(path), "show", "1"]):
        file.unlink(missing_ok=True)
        assert app.main(["history", *where, "--report", f"json:{file}"]) == 0
        assert file.read_text("utf-8") == json_file.render(result)
    assert result.headline.question.split(".")[0] in capsys.readouterr().out


def test_a_report_is_written_of_a_run(path, tmp_path, capsys):
    result = keep(path, built.program("step"))
    file = tmp_path / "run.json"
    report = ["report", "last", "--store", str(path), "--report"]
    assert app.main([*report, f"json:{file}"]) == 0
    assert file.read_text("utf-8") == json_file.render(result)
    for command in (report, ["run", "x.py", "--store", str(path), "--report"]):
        assert app.main([*command, f"json:{path}"]) == 4
        assert "would replace the result" in capsys.readouterr().err


def test_two_runs_are_compared(two, tmp_path, capsys):
    file = tmp_path / "changes.json"
    compare = ["compare", "last~1", "last", "--store", str(two)]
    assert app.main([*compare, "--report", f"json:{file}"]) == 1
    out = capsys.readouterr().out
    begun = [run.started for run in reading.list_runs(two)]  # as `history` shows them
    assert [f"run {n}: begun {at} on " in out for n, at in enumerate(begun, 1)] == [True, True]
    assert "3 programs: 1 newly different, 1 newly fixed, 1 within noise" in out
    assert "step: newly different\n    safe before, different (outputs are apart) now" in out
    told = {each["name"]: each["outcome"] for each in json.loads(file.read_text())["programs"]}
    assert told == {"step": "newly different", "init": "newly fixed", "same": "within noise"}
    assert app.main([*compare, "--exit-zero"]) == 0
    assert app.main(["compare", "1", "1", "--store", str(two)]) == 0


def test_a_report_is_compared_with_a_run(two, tmp_path, capsys):
    report = tmp_path / "A.json"
    report.write_text(json_file.render(campaign(built.program("step"))), "utf-8")
    assert app.main(["compare", str(report), "2", "--store", str(two)]) == 1
    out = capsys.readouterr().out
    assert f"other machines: the machine of {report} is not recorded" in out
    assert "1 newly different, 2 new" in out


def test_a_side_with_itself_is_not_compared_with_a_run(two, tmp_path, capsys):
    of_itself = campaign(built.program("step")).model_copy(update={"sides": ("jax-legacy",)})
    report = tmp_path / "aa.json"
    report.write_text(json_file.render(of_itself), "utf-8")
    assert app.main(["compare", str(report), "last", "--store", str(two)]) == 4
    assert "compares jax-legacy with itself (constparity aa)" in capsys.readouterr().err


def test_nothing_in_common_could_not_be_compared(path):
    keep(path, built.program("step"))
    keep(path, built.program("init"))
    assert app.main(["compare", "1", "2", "--store", str(path)]) == 2


def with_outputs(sha256):
    leaf = OutputLeaf(path="", shape=(), dtype="float32", weak_type=False, sha256=sha256)
    row = built.program("step")
    seen = tuple(each.model_copy(update={"outputs": (leaf,)}) for each in row.observations)
    return row.model_copy(update={"observations": seen})


def test_outputs_with_other_bits_are_no_success(path, capsys):
    for sha256 in ("aa", "bb", "bb"):
        keep(path, with_outputs(sha256))
    assert app.main(["compare", "2", "3", "--store", str(path)]) == 0
    assert app.main(["compare", "1", "2", "--store", str(path)]) == 2
    out = capsys.readouterr().out
    assert "1 program: 1 not comparable" in out
    assert "by how much is not known: output arrays are not kept" in out


def test_a_program_that_is_gone_is_no_success(path):
    keep(path, built.program("step"))
    keep(path, built.program("step"), built.program("init"))
    assert app.main(["compare", "1", "2", "--store", str(path)]) == 0
    assert app.main(["compare", "2", "1", "--store", str(path)]) == 2


def test_of_runs_without_an_end_no_program_may_be_missed(path):
    for _ in range(2):
        keep(path, built.program("step"), finished=False)
    assert app.main(["compare", "1", "2", "--store", str(path)]) == 2


def test_a_trend_is_printed_and_drawn(two, tmp_path, capsys):
    file = tmp_path / "trend.svg"
    trend = ["history", "trend", "--store", str(two)]
    assert app.main([*trend, "--report", f"svg:{file}"]) == 0
    assert "programs by what a flip comes to" in capsys.readouterr().out
    assert file.read_text().startswith("<svg")
    assert app.main([*trend, "--program", "step"]) == 0
    assert app.main([*trend, "--program", "other"]) == 4
    assert "no flip of a program 'other'" in capsys.readouterr().err
    assert app.main([*trend, "--metric", "speed"]) == 4
    assert "no metric 'speed'; the metrics are flip, compile" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["history"],
        ["history", "show", "1"],
        ["history", "trend"],
        ["history", "show", "7", "--store", "{store}"],
        ["history", "--store", "{folder}/none.db"],
        ["history", "--store", "{folder}"],
        ["history", "--store", ""],
        ["compare", "1", "7", "--store", "{store}"],
        ["compare", "1", "A.json", "--store", "{store}"],
        ["compare", "1", "2", "--store", "{store}", "--attribute"],
        ["compare", "1", "2", "--store", "{store}", "--report-url", "https://example.org"],
        ["run", "x", "--store", "{folder}"],
        ["run", "x", "--store", "{folder}/none/runs.db"],
    ],
)
def test_a_wrong_use_is_one_sentence(two, arguments, capsys):
    names = {"store": two, "folder": two.parent}
    assert app.main([each.format(**names) for each in arguments]) == 4
    err = capsys.readouterr().err
    assert "Traceback" not in err
    assert err.strip()


@pytest.mark.skipif(
    bool(WITHOUT_PRIVILEGES) and SETPRIV is None, reason="the superuser writes everywhere"
)
def test_a_store_that_may_only_be_read_is_read_and_stays(two):
    code = (
        f"from parity_tests.cli import app; store = ['--store', {str(two)!r}]\n"
        "print(app.main(['history', *store]), app.main(['run', 'x', *store]))"
    )
    before = two.read_bytes()
    for file, folder in ((0o444, 0o555), (0o444, 0o755)):
        two.chmod(file)
        two.parent.chmod(folder)
        try:
            done = subprocess.run(
                [*WITHOUT_PRIVILEGES, sys.executable, "-c", code],
                capture_output=True,
                text=True,
                timeout=120,
            )
        finally:
            two.parent.chmod(0o755)
        assert done.stdout.endswith("0 4\n"), done.stderr
        assert "c0ffee0123" in done.stdout
        assert done.stderr.startswith(f"constparity: the store '{two}': it cannot be")
        assert "Traceback" not in done.stderr
    assert two.read_bytes() == before


def test_the_help_of_a_trend_names_the_one_format_that_it_has(capsys):
    assert app.main(["history", "trend", "--help-all"]) == 0
    text = capsys.readouterr().out
    assert "svg:PATH" in text
    assert [each for each in get_args(ReportFormat) if f"{each}:" in text] == ["svg"]
    assert not any(f" {each}," in text for each in formats_of("campaign"))
