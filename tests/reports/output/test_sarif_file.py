"""SARIF: each finding at its line, with URIs that hold, within the limits of code scanning."""

import json

import pytest
from built_campaigns import captured_array

from reports.output import sarif_file
from reports.output.sarif_file import ARRAY, BREAKS, KINDS, findings
from reports.rows import FlipReason, FlipVerdict, Hazard

HOSTILE = "<script>alert(1)</script> \x00\x1b[31m\u202e\ud800 \U0001f600"


def array(line=3, fate="inlined", copies=1, **fields):
    return captured_array(
        line=line, shape=(4, 8), bytes=128, sha256=f"{line:02}" * 32, fate=fate, copies=copies,
        code="x @ weights", **fields,
    )  # fmt: skip


def hazard(**fields):
    given = {"kind": "reads jaxpr constants", "file": "lib.py", "line": 7, "array": ".consts"}
    return Hazard(
        **given | {"what": "`.consts` is read", "fix": "do not", "code": "j.consts"} | fields
    )


def program(campaigns, name, before=(), after=(), outcome="safe", where="", hazards=(), **fields):
    reason = FlipReason(outcome=outcome, kind="outputs", what="seen", where=where, action="fix it")
    ledgers = {"jax-legacy": before, "jax-simplified": after}
    plain = campaigns.parity(name, tuple(ledgers))
    return plain.model_copy(update={
        "observations": tuple(
            each.model_copy(update={"ledger": tuple(ledgers[each.side])})
            for each in plain.observations
        ),
        "flip": FlipVerdict(left="jax-legacy", right="jax-simplified", outcome=outcome,
                            reasons=(reason,)),
        "hazards": tuple(hazards),
    } | fields)  # fmt: skip


def log(*programs, campaigns):
    return json.loads(sarif_file.render(campaigns.campaign(*programs)))["runs"][0]


def places(run):
    found = []
    for each in run["results"]:
        place = each["locations"][0]["physicalLocation"]
        line = place.get("region", {}).get("startLine")
        found.append((each["ruleId"], each["level"], place["artifactLocation"]["uri"], line))
    return found


def test_each_array_hazard_and_broken_program_is_at_its_line(campaigns):
    run = log(
        program(campaigns, "fine", [array(3)], [array(3, "hoisted", 2)]),
        program(campaigns, "same", [array(5, "embedded")], [array(5, "embedded")]),
        program(
            campaigns, "broken", [array(3), array(9)],
            [array(3, "hoisted", 2), array(9, "hoisted")], outcome="different",
            where="model.py:9 (float32[4,8])", hazards=[hazard(changes_program=True)],
        ),
        campaigns=campaigns,
    )  # fmt: skip
    assert places(run) == [
        ("flip-breaks", "error", "parity_tests/corpus/plain.py", 12),
        ("captured-array", "error", "model.py", 9),
        ("reads-jaxpr-constants", "error", "lib.py", 7),
        ("captured-array", "note", "model.py", 3),
    ]
    [_, of_reason, reader, of_both] = run["results"]
    assert of_reason["message"]["text"] == (
        "float32[4,8], 128 B: inlined before the flip, hoisted after it. Found in: broken. "
        "What helps: fix it."
    )
    assert "Found in: fine, broken." in of_both["message"]["text"]
    assert of_both["properties"] == {
        "programs": ["fine", "broken"], "programCount": 2, "bytes": 128
    }  # fmt: skip
    region = of_both["locations"][0]["physicalLocation"]["region"]
    assert region["snippet"] == {"text": "x @ weights"}
    assert reader["message"]["text"].startswith("reads jaxpr constants: `.consts` is read.")
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert ids == [sarif_file.rule_id(kind) for kind in KINDS]
    assert all(ids[each["ruleIndex"]] == each["ruleId"] for each in run["results"])


@pytest.mark.parametrize(
    ("file", "uri", "base"),
    [
        ("a folder/mod el.py", "a%20folder/mod%20el.py", "%SRCROOT%"),
        ("naïve/#1?.py", "na%C3%AFve/%231%3F.py", "%SRCROOT%"),
        ("/elsewhere/my lib/x.py", "file:///elsewhere/my%20lib/x.py", None),
        ("bad\udcffname.py", "bad%FFname.py", "%SRCROOT%"),
    ],
)
def test_uris_are_relative_and_escaped(campaigns, file, uri, base):
    run = log(program(campaigns, "f", hazards=[hazard(file=file)]), campaigns=campaigns)
    [result] = run["results"]
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert (artifact["uri"], artifact.get("uriBaseId")) == (uri, base)


def test_what_has_no_line_of_its_own_is_at_its_program(campaigns):
    run = log(program(campaigns, "f", hazards=[hazard(file="", line=0)]), campaigns=campaigns)
    assert places(run) == [("reads-jaxpr-constants", "warning", "parity_tests/corpus/plain.py", 12)]


def test_hostile_text_is_spelled_out(campaigns):
    of = hazard(what=HOSTILE, fix=HOSTILE, code=HOSTILE)
    text = sarif_file.render(campaigns.campaign(program(campaigns, HOSTILE, hazards=[of])))
    said = json.loads(text)["runs"][0]["results"][0]
    assert r"\x00\u202e\ud800" in said["message"]["text"]
    assert said["properties"]["programs"] == [
        "<script>alert(1)</script> \\x00\\u202e\\ud800 \U0001f600"
    ]


def test_a_message_of_a_megabyte_is_cut_and_says_so(campaigns):
    of = hazard(what="x" * 10**6, fix="y" * 10**6)
    text = sarif_file.render(campaigns.campaign(program(campaigns, "z" * 10**6, hazards=[of])))
    assert len(text) < 20_000
    assert "more characters)" in text


@pytest.mark.parametrize(
    ("limit", "value"), [("MOST_RESULTS", 25), ("MOST_COMPRESSED_BYTES", 1200)]
)
def test_beyond_a_limit_the_least_severe_are_left_out_and_counted(
    campaigns, monkeypatch, limit, value
):
    monkeypatch.setattr(sarif_file, limit, value)
    arrays = [array(line, sharding=f"{line * 7919}") for line in range(1, 100)]
    hoisted = [array(line, "hoisted", 2) for line in range(1, 100)]
    run = log(program(campaigns, "f", arrays, hoisted, "different"), campaigns=campaigns)
    shown = len(run["results"])
    assert 0 < shown <= 60
    assert run["results"][0]["ruleId"] == "flip-breaks"
    notes = [
        each["message"]["text"] for each in run["invocations"][0]["toolExecutionNotifications"]
    ]
    assert notes[1].startswith(f"{100 - shown} of 100 findings are left out")
    assert run["invocations"][0]["executionSuccessful"] is True


def test_findings_do_not_depend_on_the_order_of_programs(campaigns):
    rows = [
        program(campaigns, name, [array(line)], [array(line, "hoisted", 2)])
        for name, line in (("a", 3), ("b", 5), ("c", 3))
    ]
    one = findings(campaigns.campaign(*rows))
    two = findings(campaigns.campaign(*rows[::-1]))
    assert [(each.kind, each.line) for each in one] == [(ARRAY, 3), (ARRAY, 5)]
    assert [(e.line, sorted(e.programs)) for e in one] == [
        (e.line, sorted(e.programs)) for e in two
    ]
    assert BREAKS not in {each.kind for each in one}
