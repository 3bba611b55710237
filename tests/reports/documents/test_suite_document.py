"""Reports on a test-suite: the answer first, everything in them, and harmless whatever they say."""

import json
import re
from pathlib import Path

import built_suites as built
import jsonschema
import pytest
import xmlschema
from html_pages import Page
from junitparser import JUnitXml, Properties
from markdown_it import MarkdownIt
from sarif_pydantic import Sarif

from parity_tests.cli import app
from reports import ReportReadError, formats_of, load_campaign, load_result, render_report
from reports.document import Table
from reports.documents.suite import document
from reports.output import html, json_file, suite
from reports.rows.suite import SuiteMeasured, SuiteResult, SuiteRule

JUNIT = xmlschema.XMLSchema11(Path(__file__).parents[1].joinpath("schemas") / "junit.xsd")
INVISIBLE = re.compile("[\x00\x1b\ud800]")


@pytest.mark.parametrize("format_", formats_of("suite"))
def test_hostile_text_is_spelled_out_in_every_format(format_):
    text = render_report(format_, built.rich())
    text.encode("utf-8")
    assert not INVISIBLE.search(text)
    assert format_ == "json" or "\u202e" not in text  # JSON is no page, and loses nothing
    if format_ in ("html", "junit"):
        assert "<script>" not in text


@pytest.mark.parametrize("format_", [each for each in formats_of("suite") if each != "json"])
def test_every_format_says_why_and_what_helps(format_):
    found = built.difference(), built.of_stock(captured=())
    programs = built.program("a", rung="mismatch"), built.program("e", name="donates")
    text = " ".join(render_report(format_, built.result(*programs, differences=found)).split())
    for each in found:
        assert each.reasons[0].action in text
        assert each.reasons[0].what.partition(":")[0] in text
    assert "the flip of stock JAX breaks" in text


@pytest.mark.parametrize("format_", ["html", "md", "comment", "junit"])
def test_what_was_not_looked_for_is_said_and_nothing_is_called_parity(format_):
    text = render_report(format_, built.result(built.program()))
    assert "code that reads jaxprs or JAX" in text.replace("\\", "")
    assert "jax-both sees all of them" in text.replace("\\", "")
    assert "no difference in 1 compared program" in text
    assert not re.search(r"\bparity\b", text)


# -- JSON ------------------------------------------------------------------------------------------


def test_json_reads_back_as_it_was(tmp_path):
    result = built.rich()
    path = tmp_path / "suite.json"
    path.write_text(json_file.render(result), encoding="utf-8")
    loaded = load_result(path)
    assert isinstance(loaded, SuiteResult)
    assert loaded == result


def test_json_fits_its_schema_and_a_fault_does_not():
    data = json.loads(json_file.render(built.rich()))
    schema = jsonschema.Draft202012Validator(json_file.json_schema("suite"))
    assert list(schema.iter_errors(data)) == []
    for fault in ({"kind": "campaign"}, {"schema_version": 2}, {"tests": "3"}, {"more": 1}):
        assert list(schema.iter_errors(data | fault)), fault
    assert list(schema.iter_errors({key: data[key] for key in data if key != "kind"}))


def test_a_suite_is_no_campaign(tmp_path):
    path = tmp_path / "suite.json"
    path.write_text(json_file.render(built.result()), encoding="utf-8")
    with pytest.raises(ReportReadError, match="it is the report of a test-suite; name one of one"):
        load_campaign(path)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ({"schema_version": 9}, "its schema_version is 9, and this constparity reads 1"),
        ({"verdict": 1}, "do not fit the schema: verdict"),
        ({"sees": "neither"}, "do not fit the schema: sees"),
    ],
)
def test_a_damaged_suite_says_what_is_wrong_and_what_writes_it_again(tmp_path, edit, said):
    path = tmp_path / "suite.json"
    path.write_text(json.dumps(json.loads(json_file.render(built.result())) | edit))
    with pytest.raises(ReportReadError) as raised:
        load_result(path)
    assert said in str(raised.value)
    assert f"--constparity-report json:{path}" in str(raised.value)


def test_every_list_of_a_rich_suite_has_its_table():
    found = [each.caption for each in document(built.rich()).parts if isinstance(each, Table)]
    assert found == [
        "Rules on the collected programs",
        "What was not shadowed, and why",
        "Lists of known differences",
        "Programs that are not as in the baseline",
        "Processes that ended early",
    ]


# -- HTML ------------------------------------------------------------------------------------------


def test_the_page_answers_first_and_shows_what_differs():
    text = render_report("html", built.rich())
    page = Page(text)
    assert page.text.index(
        "differ in 2 programs, and the flip of stock JAX breaks 1"
    ) < page.text.index("Programs that the tests ran")
    for said in ("1.0 on legacy, 2.0 on simplified", "model.py:14", "it has effects: Debug",
                 "test_model.py::test_other", "known.toml:9", "jax 0.10.2",
                 "2 programs, times in 5 rounds", "different: kept"):  # fmt: skip
        assert said in page.text
    assert page.tags.count("script") == 0
    assert page.text.count("<script>alert(1)</script>") >= 10
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert any("default-src 'none'" in each for each in page.values("content"))
    links = {each[1:] for each in page.values("href")}
    assert links <= set(page.values("id"))
    assert len(links) == 4


def test_a_page_is_cut_with_a_notice_and_links_still_lead_somewhere():
    text = html.render(document(built.large(200)), limit_bytes=700_000)
    assert len(text.encode()) < 720_000
    page = Page(text)
    assert "The report is cut here" in page.text
    assert {each[1:] for each in page.values("href")} <= set(page.values("id"))


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({}, "no difference in 1 compared program"),
        ({"compared_tests": 0}, "nothing was compared"),
        ({"differences": (built.difference(),)}, "legacy and simplified differ in 1 program"),
        (
            {"differences": (built.difference(state="known"),)},
            "no difference but 1 known difference",
        ),
        ({"known": (built.entry(state="fixed"),)}, "1 known difference is gone"),
        (
            {"lost": built.rich().lost, "differences": (built.difference(state="known"),)},
            "1 process of the suite ended early",
        ),
        ({"differences": (built.of_stock("a"),)}, "the flip of stock JAX breaks 1 program"),
        ({"baseline": built.rich().baseline}, "1 program not as in the baseline"),
        ({"measured": built.rich().measured}, "1 rule broken"),
    ],
)
def test_the_answer(changes, answer):
    result = built.result(built.program(), **changes)
    assert f">{answer}</span></h1>" in render_report("html", result)
    assert result.fails == (not answer.startswith("no"))


# -- Markdown --------------------------------------------------------------------------------------


@pytest.mark.parametrize("format_", ["md", "comment"])
def test_markdown_shows_hostile_text_and_takes_no_order_from_it(format_):
    text = render_report(format_, built.rich())
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    assert "<script>" not in html
    assert html.count("<details") == html.count("</details>")
    assert "<h1>c</h1>" not in html
    assert "@jax" not in text
    assert "model.py:14" in text


@pytest.mark.parametrize("count", [0, 1, 100, 5000])
def test_a_comment_can_be_posted_whatever_there_is(count):
    text = render_report("comment", built.large(count))
    assert len(text.encode()) < 65_536
    assert ("more programs that differ are left out here" in text) == (count > 1)


def test_the_whole_comment_of_one_difference():
    result = built.result(built.program(), differences=(built.difference(),))
    text = render_report("comment", result)
    assert text == (
        "### constparity: legacy and simplified differ in 1 program\n"
        "\n"
        "- 1 program of 3 tests ran on both pipelines, and 2 tests compared at least one; the "
        "tests saw legacy\n"
        "- Not seen: loops outside of jax.jit, and jax.pmap; code that reads jaxprs or JAX's flag, "
        "and decides by them; what a flip of stock JAX changes and the engine does not, as NumPy "
        "arrays that are overwritten, transfer guards, and devices; pytest --constparity=jax-both "
        "sees all of them\n"
        "- Differences: 1 new\n"
        "- Times: not measured\n"
        "- Measured with constparity 0.1.0 · jax 0.10.2 · jaxlib 0.10.2 · numpy 2.4.0 · Python "
        "3.12.1 · cpu\n"
        "\n"
        "**Differences**\n"
        "\n"
        "<details><summary><b>different:</b> step</summary>\n"
        "\n"
        "In 1 test, as test_model.py::test_step; defined at model.py:12.\n"
        "\n"
        "**Differences**\n"
        "\n"
        "| test | phase | difference | state | because |\n"
        "| :--- | :--- | :--- | :--- | :--- |\n"
        "| test_model.py::test_step | call | \\['loss']\\[0]: 1.0 on legacy, 2.0 on simplified; "
        "max rel inf, max abs 1 | **new** |  |\n"
        "\n"
        "**The flip from legacy to simplified: different**\n"
        "\n"
        "| what | where | what helps | comes to |\n"
        "| :--- | :--- | :--- | :--- |\n"
        "| outputs are different in their values: mismatch at \\['loss'] | model.py:14 | "
        "constparity culprit names the captured arrays that it takes | **different** |\n"
        "\n"
        "**Arrays that it captured**\n"
        "\n"
        "| first used at | in | array | bytes | uses |\n"
        "| :--- | :--- | :--- | ---: | ---: |\n"
        "| model.py:14 | step | float32\\[4] | 16 | 1 |\n"
        "\n"
        "</details>\n"
        "\n"
        "- `constparity report SUITE.json --report html:report.html` draws all of it.\n"
    )


# -- JUnit -----------------------------------------------------------------------------------------


def cases(result):
    text = suite.render_junit(result)
    JUNIT.validate(text)
    return {case.name: case for suite in JUnitXml.fromstring(text.encode()) for case in suite}


def test_a_case_for_each_program_with_what_is_known_as_properties():
    found = cases(built.result(built.program(name="f"), differences=()))
    assert list(found) == ["f(float32[4])"]
    case = found["f(float32[4])"]
    assert case.is_passed
    assert case.classname == "model"
    assert {each.name: each.value for each in case.child(Properties)} == {
        "source": "model.py:12", "arguments": "float32[4]", "state": "bitwise equal",
        "rung": "bitwise", "equations": "3", "captured arrays": "1", "captured bytes": "16",
        "one executable": "False",
    }  # fmt: skip


def test_what_fails_and_what_is_skipped():
    found = cases(
        built.result(
            built.program("a", name="new"),
            built.program("b", name="known"),
            built.program("c", name="never", rung=None, not_compared=("it has effects: Debug",)),
            differences=(
                built.difference("a", name="new"),
                built.failure("b", name="known", state="known", because="as of #7"),
            ),
            known=(built.entry(state="fixed", where="known.toml:9"),),
        )
    )
    new = found["new(float32[4])"]
    assert new.is_failure
    assert "1.0 on legacy, 2.0 on simplified" in new.result[0].message
    assert "first used at model.py:14 in step" in new.result[0].text
    assert found["known(float32[4])"].result[0].message == "known difference: as of #7"
    assert found["never(float32[4])"].result[0].message == "not compared: it has effects: Debug"
    assert found["known.toml:9"].is_failure


def test_collected_programs_that_were_not_measured_are_no_success():
    rules = (SuiteRule(rule="slower", broken_by=()),)
    measured = SuiteMeasured(programs=0, rounds=0, rules=rules, problem="no program")
    result = built.result(measured=measured)
    found = cases(result)
    assert found["the collected programs"].result[0].message == "no program"
    assert found["slower"].is_skipped
    assert not sarif(result)["invocations"][0]["executionSuccessful"]


def test_hostile_junit_is_valid():
    JUNIT.validate(suite.render_junit(built.rich()))


# -- SARIF -----------------------------------------------------------------------------------------


def sarif(result):
    text = suite.render_sarif(result)
    Sarif.model_validate_json(text)
    return json.loads(text)["runs"][0]


def places(run):
    for each in run["results"]:
        place = each["locations"][0]["physicalLocation"]
        line = place["region"]["startLine"]
        yield each["ruleId"], each["level"], place["artifactLocation"]["uri"], line


def test_each_captured_array_of_a_differing_program_is_at_its_line():
    run = sarif(
        built.result(
            differences=(
                built.failure("k", state="known", captured=(built.array(20),)),
                built.difference("a", captured=(built.array(14), built.array(15))),
                built.difference("a", test="another test of the same program"),
                built.difference("b", captured=(), source="lib.py:7"),
            ),
            known=(built.entry(state="fixed"), built.entry(state="known")),
        )
    )
    assert list(places(run)) == [
        ("captured-array-of-a-difference", "error", "model.py", 14),
        ("captured-array-of-a-difference", "error", "model.py", 15),
        ("program-differs", "error", "lib.py", 7),
        ("known-difference-is-gone", "error", "known.toml", 3),
        ("captured-array-of-a-difference", "note", "model.py", 20),
    ]


def test_a_suite_that_lost_a_process_is_no_success_and_limits_are_kept(monkeypatch):
    run = sarif(built.rich())
    assert not run["invocations"][0]["executionSuccessful"]
    monkeypatch.setattr("reports.output.sarif.MOST_RESULTS", 2)
    run = sarif(built.large(3))
    assert len(run["results"]) == 2
    assert (
        "findings are left out"
        in run["invocations"][0]["toolExecutionNotifications"][1]["message"]["text"]
    )


# -- the command -----------------------------------------------------------------------------------


def test_a_suite_has_no_tables(tmp_path, capsys):
    file = tmp_path / "suite.json"
    file.write_text(json_file.render(built.rich()), "utf-8")
    assert app.main(["report", str(file), "--report", f"csv:{tmp_path}/x.csv"]) == 4
    assert "the formats of a test-suite are html, md, comment" in capsys.readouterr().err
