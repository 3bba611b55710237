"""Reports on a planned campaign: what is worst first, whole or with what they leave out."""

import io
import json
import re

import pytest
from html_pages import Page
from rich.console import Console

from parity_tests.cli.plan_view import print_plan
from reports import render_report
from reports.document import Sections
from reports.documents.plan import document
from reports.rows.plan import (
    STATES,
    BrokenRule,
    CauseGroup,
    PlanEnvironment,
    PlanLibrary,
    PlanReport,
)
from tests.helpers.built_grids import ENVIRONMENT, HOSTILE

VERSIONS = {"python 3.11.7, jax 0.10.2": 3, "python 3.11.9, jax 0.10.2": 7}


def cause(number, programs=1, text="outputs are apart"):
    names = tuple(f"cause_{number}_program_{each}" for each in range(programs))
    return CauseGroup(
        state="breaks",
        symptom=f"{text} ({number})",
        equation="dot_general",
        action="pass it as an argument",
        example=names[0],
        place=number,
        run=1,
        programs=names,
    )


def report(causes=(), **changes):
    count = sum(len(each.programs) for each in causes)
    fields = {
        "name": "nightly",
        "digest": "d",
        "started": "2026-11-24T10:00:00+00:00",
        "sides": ("legacy", "simplified", "jax-legacy", "jax-simplified"),
        "planned": count + 10,
        "states": {"breaks": count, "safe": 10},
        "environments": (
            PlanEnvironment(
                label="here",
                run=1,
                environment=ENVIRONMENT,
                states={"breaks": count, "safe": 10},
                machines={"node 1": 3, "node 2": 7},
                versions=VERSIONS,
            ),
        ),
        "causes": tuple(causes),
    }
    return PlanReport(**{**fields, **changes})


def facts_of(page):
    """What is known of the first cause."""
    [found] = [each for each in page.parts if isinstance(each, Sections)]
    return {line.strong: line.text for line in found.sections[0].parts[0].lines}


@pytest.mark.parametrize("kind", ["html", "md", "comment", "json"])
def test_rules_a_a_and_machines_are_named(kind):
    text = render_report(
        kind,
        report(
            [cause(1)],
            broken=(BrokenRule(rule="different", status="difference", programs=1),),
            differ_from_themselves={f"noise_{number}": "output bits: 1" for number in range(7)},
        ),
    )
    said = Page(text).text if kind == "html" else text
    assert "noise_0" in said
    assert "different" in said
    if kind == "json":
        assert PlanReport.model_validate_json(text).environments[0].versions == VERSIONS
        return
    assert "fails on different: 1 program" in said
    assert re.search(r"they differ where legacy runs twice: noise_0, .*noise_4 and 2 more", said)
    if kind != "comment":
        assert "python 3.11.7, jax 0.10.2 (3); python 3.11.9" in said
        assert "node 1 (3); node 2 (7)" in said


def test_a_comment_fits_whatever_there_is_and_says_what_it_leaves_out():
    whole = report([cause(number, 300, "x" * 2000) for number in range(500)])
    text = render_report("comment", whole, link="https://example.org/report.html")
    assert len(text.encode()) < 65_536
    assert "150,010 programs: 150,000 break" in text
    shown = text.count("<b>breaks:</b>")
    assert 0 < shown < 500
    members = 300 * (500 - shown)
    assert f"**Cut here:** {500 - shown} more causes, of {members:,} programs, are left" in text
    assert "[The whole report](<https://example.org/report.html>)" in text
    assert "The whole report" not in render_report("comment", whole)
    with pytest.raises(ValueError, match="javascript"):
        render_report("comment", whole, link="javascript:alert(1)")


@pytest.mark.parametrize(("kind", "named"), [("html", 200), ("md", 200), ("comment", 200)])
def test_programs_that_a_cause_names_and_leaves_out_add_up(kind, named):
    text = render_report(kind, report([cause(1, 1473)]))
    assert len(set(re.findall(r"cause_1_program_\d+", text))) == named
    assert f"{1473 - named:,} more programs of this cause are left out here" in text


@pytest.mark.parametrize("kind", ["html", "md", "comment"])
def test_hostile_names_do_no_harm(kind):
    text = render_report(
        kind,
        report([cause(1, text=HOSTILE)], name=HOSTILE, differ_from_themselves={HOSTILE: HOSTILE}),
    )
    assert "<script>alert" not in text
    assert "\x1b" not in text


def test_what_is_unavailable_is_in_the_answer_and_cannot_be_run():
    missing = cause(1).model_copy(update={"state": "unavailable", "target": "models.py:step"})
    page = document(report([missing], states={"unavailable": 1, "safe": 10}, planned=11))
    assert page.answer == "nothing breaks, of 11 programs; 1 unavailable"
    assert "Run it:" not in facts_of(page)


@pytest.mark.parametrize(
    ("target", "options", "command"),
    [
        ("models.py:step", "", "constparity run models.py:step"),
        ("my models.py:step", "", "constparity run 'my models.py:step'"),
        ("models.py:step", "--jax 0.12.0.1", "constparity run models.py:step --jax 0.12.0.1"),
    ],
)
def test_a_cause_says_how_its_example_is_run_in_its_environment(target, options, command):
    found = report([cause(1).model_copy(update={"target": target})])
    own = found.environments[0].model_copy(update={"options": options})
    found = found.model_copy(update={"environments": (own,)})
    assert facts_of(document(found))["Run it:"] == command


@pytest.mark.parametrize(
    ("lost", "said"), [(1, "of which 1 was lost"), (2, "of which 2 were lost")]
)
def test_lost_tasks_are_counted(lost, said):
    assert any(said in line for line in document(report(tasks=9, tasks_lost=lost)).lines)


def test_causes_are_counted_where_there_are_some():
    said = "What is not safe has"
    assert not any(said in line for line in document(report()).lines)
    assert any(f"{said} 1 cause;" in line for line in document(report([cause(1)])).lines)


def test_each_state_has_its_number_and_they_add_up():
    states = {state: number for number, state in enumerate(STATES, 1)}
    whole = report(states=states, planned=sum(states.values()))
    table = render_report("md", whole)
    for state, number in states.items():
        assert re.search(rf"^\| \**{state}\** \| {number} \|", table, re.MULTILINE)
    assert f"| all | {sum(states.values())} |" in table
    assert json.loads(render_report("json", whole))["states"] == states


@pytest.mark.parametrize("kind", ["html", "md", "comment", "json"])
def test_programs_that_are_not_timed_are_in_the_answer_and_named(kind):
    names = tuple(f"slow{number}" for number in range(7))
    text = render_report(kind, report(states={"safe": 10}, planned=10, not_timed=names))
    if kind == "json":
        assert PlanReport.model_validate_json(text).not_timed == names
        return
    said = Page(text).text if kind == "html" else text
    assert "10 programs: 7 not timed" in said
    assert "nothing breaks" not in said
    assert "7 programs were to be timed and have no times: slow0, slow1" in said
    assert "slow4 and 2 more" in said
    assert document(report(states={"safe": 10}, planned=10, not_timed=names)).tone == "warn"


LIBRARIES = (
    PlanLibrary(name="optax", version="0.2.8", programs=9),
    PlanLibrary(
        name="chex", version="0.1", programs=1, failures=tuple(f"t::n{each}" for each in range(7))
    ),
    PlanLibrary(name="rlax", version="0.1.9", left_out="no source distribution; check its name"),
)


@pytest.mark.parametrize("kind", ["html", "md", "comment", "json", "terminal"])
def test_libraries_that_are_left_out_are_named_and_tests_that_fail(kind):
    whole = report(libraries=LIBRARIES, states={"safe": 10})
    if kind == "terminal":
        console = Console(file=io.StringIO(), width=300)
        print_plan(console, whole)
        text = console.file.getvalue()
    else:
        text = render_report(kind, whole)
    if kind == "json":
        assert PlanReport.model_validate_json(text).libraries == LIBRARIES
        return
    said = re.sub(r"\\(.)", r"\1", Page(text).text if kind == "html" else text)
    assert "nothing breaks, of 10 programs; 1 library left out" in said
    assert "Left out: library rlax 0.1.9: no source distribution; check its name" in said
    assert re.search(
        "Unexpected failures: 7 tests of library chex 0.1: t::n0, .*t::n4 and 2 more", said
    )
    assert "optax" not in said


def test_what_is_left_out_is_no_good_end():
    assert document(report(libraries=LIBRARIES, states={"safe": 10})).tone == "warn"
    broken = document(report([cause(1)], libraries=LIBRARIES))
    assert (broken.answer, broken.tone) == ("11 programs: 1 break; 1 library left out", "bad")


def test_a_comment_fits_whatever_libraries_say():
    many = [
        PlanLibrary(name=HOSTILE, version="1", left_out="<" * 4000, failures=("<" * 4000,) * 9)
        for _ in range(100)
    ]
    whole = report([cause(1, 300, HOSTILE)], libraries=tuple(many))
    text = render_report("comment", whole)
    assert len(text.encode()) < 65_536
    assert re.search(r"\d+ more lines on libraries are left out here; the JSON report", text)
