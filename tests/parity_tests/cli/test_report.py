"""`constparity report`: every format of a result, and nothing of one that is damaged."""

import json

import built_campaigns
import built_grids as built
import built_suites
import pytest

import reports
from parity_tests.cli import app
from reports import kinds
from reports.output import json_file, tables
from reports.rows.proofs import Proofs
from reports.rows.suite_runs import SuiteRuns


@pytest.fixture
def result(tmp_path, faults):
    file = tmp_path / "result.json"
    file.write_text(reports.render_report("json", faults), "utf-8")
    return file


def report(result, *options):
    return app.main(["report", str(result), *options])


CAMPAIGN = built_campaigns.campaign(built_campaigns.parity())
RESULTS = {
    "campaign": CAMPAIGN,
    "grid": built.rich(),
    "suite": built_suites.rich(),
    "suite-runs": SuiteRuns(created="2026-01-01", arguments=(), tests=0, sides=()),
    "proofs": Proofs(
        created="2026-01-01", environment=CAMPAIGN.environment, programs=(),
        sides=("jax-legacy", "jax-simplified"),
    ),
}  # fmt: skip


def test_the_kinds_that_are_read_and_the_formats_of_each():
    assert {each.name: " ".join(each.formats) for each in kinds.KINDS_READ} == {
        "campaign": "html md comment junit sarif json csv parquet",
        "grid": "html md comment junit json csv parquet",
        "suite": "html md comment junit sarif json",
        "suite-runs": "html md comment junit sarif json",
        "proofs": "html md comment junit sarif json csv parquet",
    }
    assert RESULTS.keys() == {each.name for each in kinds.KINDS_READ}


@pytest.fixture(params=RESULTS)
def kind(request):
    return request.param


@pytest.fixture
def file(kind, tmp_path):
    path = tmp_path / f"{kind}.json"
    path.write_text(json_file.render(RESULTS[kind]), "utf-8")
    return path


def test_all_formats_of_a_kind_at_once(kind, file, tmp_path):
    formats = reports.formats_of(kind)
    assert report(file, *(f"--report={each}:{tmp_path}/out/{each}" for each in formats)) == 0
    for format_ in formats:
        written = (tmp_path / "out" / format_).read_bytes()
        assert written == reports.as_bytes(reports.render_report(format_, RESULTS[kind]))


def test_a_result_that_has_a_program_twice_is_damaged(tmp_path, capsys):
    result = json.loads(json_file.render(RESULTS["campaign"]))
    result["programs"].append(result["programs"][0])
    (tmp_path / "result.json").write_text(json.dumps(result))
    assert report(tmp_path / "result.json", "--report", "md:-") == 4
    assert "two programs have the name" in capsys.readouterr().err


BENCH = {
    "schema_version": 1, "created": "", "environment": {}, "question": {}, "load": None,
    "lines": [], "samples": [],
}  # fmt: skip


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (BENCH, "it is the report of a benchmark"),
        ({"kind": "planned campaign", "schema_version": 1}, "it is the report of a planned"),
        ({"kind": "recipe", "schema_version": 1}, "its kind 'recipe' is not known"),
        ({"schema_version": 1, "dishes": []}, "its kind is not known"),
    ],
)
def test_a_result_of_a_kind_that_is_not_read_names_it_and_those_that_are(
    data, said, tmp_path, capsys
):
    file = tmp_path / "result.json"
    file.write_text(json.dumps(data), "utf-8")
    assert report(file, "--report", "md:-") == 4
    told = capsys.readouterr().err
    assert f"cannot read the report '{file}': {said}" in told
    assert "name one of one campaign, a grid over versions of JAX, a test-suite, a test-su" in told


def test_the_rules_decide_what_fails_in_junit_and_not_the_exit_status(result, capsys):
    assert report(result, "--report", "junit:-", "--fail-on", "larger:9999x") == 0
    assert 'failures="0" errors="0"' in capsys.readouterr().out
    assert report(result, "--report", "junit:-", "--fail-on", "different,new-failure") == 0
    assert "<failure " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda text: text[:300], "it is not JSON"),
        (
            lambda text: json.dumps(json.loads(text) | {"schema_version": 99}),
            "its schema_version is 99, and this constparity reads",
        ),
        (lambda text: json.dumps(json.loads(text) | {"more": 1}), "do not fit the schema: more"),
        (lambda text: "[]", "not a constparity report"),
    ],
)
def test_a_damaged_or_newer_result_is_an_error_and_stays_as_it_is(
    result, damage, said, tmp_path, capsys
):
    result.write_text(damage(result.read_text("utf-8")), "utf-8")
    before = result.read_bytes()
    assert report(result, "--report", f"md:{tmp_path}/new/out.md") == 4
    assert said in capsys.readouterr().err
    assert result.read_bytes() == before
    assert not (tmp_path / "new").exists()


def test_a_result_that_is_not_there(tmp_path, capsys):
    assert report(tmp_path / "gone.json", "--report", "md:-") == 4
    assert "cannot read the report" in capsys.readouterr().err


def test_the_result_is_not_replaced(result, capsys):
    before = result.read_bytes()
    assert report(result, "--report", f"json:{result.parent}/./result.json") == 4
    assert "would replace the result" in capsys.readouterr().err
    assert result.read_bytes() == before


@pytest.mark.parametrize("command", ["run {}:step", "run {}", "lint {}", "reduce {}:step"])
def test_the_source_is_not_replaced(tmp_path, capsys, command):
    file = tmp_path / "model.py"
    file.write_text("precious")
    assert app.main([*command.format(file).split(), "--report", f"json:{file}"]) == 4
    assert "would replace the result or the source" in capsys.readouterr().err
    assert file.read_text() == "precious"


def test_without_a_report_it_says_how_to_ask_for_one(result, capsys):
    assert report(result) == 4
    assert "--report html:report.html" in capsys.readouterr().err


def test_what_cannot_be_written_is_no_success(result, tmp_path, capsys, monkeypatch):
    def full(path, content):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(reports, "write_atomically", full)
    assert report(result, "--report", f"md:{tmp_path}/out.md") == 3
    assert "No space left on device" in capsys.readouterr().err


def test_tables_have_a_file_each_and_take_no_other_report(result, tmp_path, capsys):
    assert report(result, "--report", f"csv:{tmp_path}/t.csv") == 0
    names = [file.name for file in sorted(tmp_path.glob("t.*"))]
    assert names == ["t.captured_arrays.csv", "t.csv", "t.metrics.csv"]
    said = capsys.readouterr().out
    assert all(f"report: {tmp_path}/{name}" in said for name in names)
    both = ("--report", f"csv:{tmp_path}/t.csv", "--report", f"json:{tmp_path}/t.metrics.csv")
    assert report(result, *both) == 4
    assert "two reports to one file" in capsys.readouterr().err


def test_without_a_library_nothing_is_written(result, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(tables, "find_spec", lambda name: None)
    asked = ("--report", f"md:{tmp_path}/new/r.md", "--report", f"parquet:{tmp_path}/r.parquet")
    assert report(result, *asked) == 4
    assert ": install constparity[tables]" in capsys.readouterr().err
    assert not (tmp_path / "new" / "r.md").exists()


@pytest.mark.parametrize("kind", ["grid"], indirect=True)
def test_a_format_that_a_kind_does_not_have_names_those_that_it_has(file, tmp_path, capsys):
    assert report(file, "--report", f"sarif:{tmp_path}/r.sarif") == 4
    formats = "html, md, comment, junit, json, csv, parquet"
    assert f"the formats of a grid over versions of JAX are {formats}" in capsys.readouterr().err
    assert not (tmp_path / "r.sarif").exists()


def test_an_unknown_format_names_those_that_there_are(result, capsys):
    assert report(result, "--report", "pdf:x.pdf") == 4
    assert "html, md, comment, junit" in capsys.readouterr().err


def test_a_comment_links_to_the_address_of_the_whole_report(file, capsys):
    address = "https://ci.example.org/report.html"
    options = ("--report", "comment:-", "--report-url", address)
    assert report(file, *options) == 0
    assert f"[The whole report](<{address}>)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--report", "comment:-", "--report-url", "file:///report.html"), "https:// or http://"),
        (("--report", "comment:-", "--report-url", ""), "https:// or http://"),
        (("--report", "md:-", "--report-url", "https://example.org"), "comment:comment.md"),
    ],
)
def test_a_link_that_no_comment_could_show_is_an_error(result, options, said, capsys):
    assert report(result, *options) == 4
    assert said in capsys.readouterr().err
