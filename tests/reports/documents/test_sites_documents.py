"""What a command captured, and what of it is to blame, as documents and as SARIF."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reports import render_report
from reports.documents.bisection import lines
from reports.rows.bisection import BisectAnswer, Bisection, BlamedSet, BlamedSite
from reports.rows.sites import Captured, Sites

LAYERS = Captured(
    file="model.py", line=12, function="Model.__call__", code="x = x @ w", array="float32[64,64]",
    arrays=2, bytes=16384, programs=("step at train.py:5", "loss at train.py:9"), uses=4,
    lowered=3, copies=6, sites=("0a", "0b"),
)  # fmt: skip
EXPORTED = Captured(
    file="serve.py", line=3, function="serve", array="int8[99]", arrays=1, bytes=99,
    programs=("serve at serve.py:2",), uses=1, lowered=1, copies=1, sites=("0c",),
    fixed="it is exported",
)  # fmt: skip
SITES = Sites(
    created="2026-01-01T00:00:00+00:00", constparity="0.1.0", command=("python", "a b.py"),
    status=1, ended="exit status 1", seconds=9.6, captured=(LAYERS, EXPORTED), min_bytes=50,
    smaller=2, lowered=4, not_reached=("float32[9] at eager.py:7",),
    processes=("0.10.2", "0.10.2"), not_read=("JAX 0.4 is too old",),
)  # fmt: skip


def test_what_a_command_captured_as_markdown() -> None:
    assert render_report("md", SITES) == (
        "# constparity: sites: 3 captured arrays at 2 lines, 32.1 KiB in all; legacy inlines 7 "
        "copies, 96.1 KiB in all, into 4 programs\n"
        "\n"
        "- python 'a b.py': exit status 1, after 10 s; 2 processes with JAX 0.10.2\n"
        "- The command failed or was interrupted: it may capture more\n"
        "- 2 arrays below 50 B left out (--min-bytes)\n"
        "- A process was not read: JAX 0.4 is too old\n"
        "\n"
        "**Captured arrays**\n"
        "\n"
        "| captured at | arrays | size | captured by | read by | lowered | copies in legacy "
        "| copied |\n"
        "| :--- | :--- | ---: | :--- | ---: | ---: | ---: | ---: |\n"
        "| model.py:12 (Model.\\_\\_call\\_\\_) | 2 x float32\\[64,64] | 32.0 KiB | step, loss | 4 "
        "| 3 | 6 | 96.0 KiB |\n"
        "| serve.py:3 (serve) | int8\\[99] | 99 B | serve | 1 | 1 | 1 | 99 B |\n"
        "\n"
        "## Not flipped by themselves\n"
        "\n"
        "- serve.py:3 (serve): it is exported\n"
        "\n"
        "## Out of reach\n"
        "\n"
        "JAX captures these arrays by itself, outside of any jitted function: in control flow, "
        "checkpoints and derivatives, and under jax.pmap. Their programs and copies are not "
        "counted.\n"
        "\n"
        "- float32\\[9] at eager.py:7\n"
    )


def test_a_command_that_captures_nothing_says_so() -> None:
    nothing = SITES.model_copy(update={"captured": (), "smaller": 0})
    answer = "sites: no captured array that a flip would hoist"
    assert answer in render_report("md", nothing)
    left = SITES.model_copy(update={"captured": ()})
    assert "sites: no captured array of 50 B or more" in render_report("md", left)


def test_each_line_that_captures_is_a_note_of_sarif() -> None:
    assert _results(SITES) == [
        (
            *("captured-array", "note", "model.py", 12),
            "2 arrays float32[64,64], 32.0 KiB: captured at model.py:12 (Model.__call__) by step, "
            "loss; legacy inlines 6 copies, 96.0 KiB, into 3 lowered programs",
        ),
        (
            *("captured-array", "note", "serve.py", 3),
            "1 array int8[99], 99 B: captured at serve.py:3 (serve) by serve; legacy inlines 1 "
            "copy, 99 B, into 1 lowered program",
        ),
    ]


@pytest.mark.parametrize("file", ["", "<stdin>", "cell 1234"])
def test_code_that_is_in_no_file_has_no_place_in_sarif(file: str) -> None:
    found = SITES.model_copy(update={"captured": (LAYERS.model_copy(update={"file": file}),)})
    [result] = json.loads(render_report("sarif", found))["runs"][0]["results"]
    assert "locations" not in result
    assert "Model.__call__" in result["message"]["text"]


def _site(number: str, words: str, line: int) -> BlamedSite:
    return BlamedSite(
        id=number, kind="array", words=words, program="step at a.py:1", file="a.py", line=line,
        function="step", code=f"x = x + {number}", array="float32[9]", bytes=36,
    )  # fmt: skip


PAIR = BlamedSet(
    sites=(_site("0a", "this array", 2), _site("0b", "that array", 3)),
    passes="0a", fails="0a,0b", ended="exit status 1", said="  AssertionError\n[gw0] failed",
    action="keep it inlined",
)  # fmt: skip


def _bisection(answer: BisectAnswer = "found", **fields: Any) -> Bisection:
    return Bisection(**{
        "created": "2026-01-01T00:00:00+00:00", "constparity": "0.1.0", "until": "exit",
        "command": ("pytest", "a.py"), "answer": answer, "detail": "stock JAX confirms it",
        "sites": 40, "runs": 12, "bound": 15, "seconds": 30.0, **fields,
    })  # fmt: skip


def test_several_sites_are_flipped_together() -> None:
    assert "    with them flipped: exit status 1" in [*lines(_bisection(sets=(PAIR,)))]


def test_a_bisection_as_markdown() -> None:
    found = _bisection(
        options=("--policy", "a.policy"), sets=(PAIR,), repeats=3, confidence=0.96,
        together=("f at b.py:1: its arrays go to scan",),
        not_reached=("float32[9] at eager.py:7",), not_switched=("JAX 0.4 is too old",),
    )  # fmt: skip
    assert render_report("md", found) == (
        "# constparity: bisect: 2 sites of 40, together, make the command fail\n"
        "\n"
        "- pytest a.py (failing is: exit; --policy a.policy)\n"
        "- stock JAX confirms it\n"
        "- 12 runs of 40 sites, at most 15 for one culprit; 30 s; each question was run 3 times, "
        "so that no failure was missed with confidence 0.960\n"
        "\n"
        "### exit status 1: this array\n"
        "\n"
        "- **and** that array\n"
        "- **line 2** x = x + 0a\n"
        "- **line 3** x = x + 0b\n"
        "- **what helps** keep it inlined\n"
        "- **passes** constparity bisect --flip 0a --policy a.policy -- pytest a.py\n"
        "- **fails** constparity bisect --flip 0a,0b --policy a.policy -- pytest a.py\n"
        "\n"
        "```text\n"
        "  AssertionError\n"
        "[gw0] failed\n"
        "```\n"
        "\n"
        "- flipped with its form: f at b.py:1: its arrays go to scan\n"
        "- out of reach, captured outside of jax.jit: float32\\[9] at eager.py:7\n"
        "- not switched: JAX 0.4 is too old\n"
    )


def test_what_is_not_to_blame_and_what_tells_by_output_are_said() -> None:
    found = _bisection(until="text:NaN", sets=(PAIR,), apart=("another array",))
    said = render_report("md", found)
    assert "- **which fails** both may exit with 0: compare what they print, by text:NaN\n" in said
    assert "\n- not to blame, fails only while others are not flipped: another array\n" in said
    assert "\n- 12 runs of 40 sites; 30 s\n" in said  # the bound is of one set


@pytest.mark.parametrize(
    ("answer", "head"),
    [
        ("passes", "nothing to find, the command passes after the flip"),
        ("fails before", "the command fails before the flip"),
        ("fixed", "the command fails after the flip on stock JAX alone"),
        ("ours", "constparity's engine itself changes what the command does"),
        ("not repeatable", "not known, the command does not repeat itself"),
    ],
)
def test_a_bisection_that_finds_nothing(answer: BisectAnswer, head: str) -> None:
    assert render_report("comment", _bisection(answer)) == (
        f"### constparity: bisect: {head}\n"
        "\n"
        "- pytest a.py (failing is: exit)\n"
        "- stock JAX confirms it\n"
        "- 12 runs of 40 sites, at most 15 for one culprit; 30 s\n"
    )


def test_one_site_to_blame_is_counted_alone() -> None:
    alone = PAIR.model_copy(update={"sites": PAIR.sites[:1]})
    answer = "bisect: 1 site of 40 makes the command fail"
    assert answer in render_report("html", _bisection(sets=(alone,)))


def test_each_site_to_blame_is_an_error_of_sarif() -> None:
    commands = (
        "makes the command fail after the flip, together with 1 other site (exit status 1). "
        "passes: constparity bisect --flip 0a -- pytest a.py; "
        "fails: constparity bisect --flip 0a,0b -- pytest a.py"
    )
    assert _results(_bisection(sets=(PAIR,))) == [
        ("site-to-blame", "error", "a.py", 2, f"this array {commands}"),
        ("site-to-blame", "error", "a.py", 3, f"that array {commands}"),
    ]


def _results(result: Sites | Bisection) -> list[tuple[str, str, str, int, str]]:
    [run] = json.loads(render_report("sarif", result))["runs"]
    found = []
    for each in run["results"]:
        [location] = each["locations"]
        place = location["physicalLocation"]
        file, line = place["artifactLocation"]["uri"], place["region"]["startLine"]
        found.append((each["ruleId"], each["level"], file, line, each["message"]["text"]))
    return found
