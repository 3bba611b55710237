"""SARIF has each finding at its line, with its level."""

import json
from pathlib import Path

import pytest
import sarif_pydantic
from pydantic import BaseModel

from reports.output import sarif

# Of SARIF, and not in the models.
LACKING = {"columnKind", "toolExecutionNotifications"}
RULES = [sarif.SarifRule("CP101", "a title", "what to do")]


def unknown(value):
    """Fields that are none of SARIF's: the models take them as extras."""
    if isinstance(value, list):
        for each in value:
            yield from unknown(each)
    if isinstance(value, BaseModel):
        yield from (value.model_extra or {}).keys() - LACKING
        for each in vars(value).values():
            yield from unknown(each)


def log_of(*findings, **options):
    text = sarif.render("0.1.0", RULES, findings, **options)
    assert list(unknown(sarif_pydantic.Sarif.model_validate_json(text))) == []
    [run] = json.loads(text)["runs"]
    return run


def finding(**fields):
    given = {"rule_id": "CP101", "message": "text", "level": "warning"} | fields
    return sarif.SarifFinding(**given)


def uri(file):
    [result] = log_of(finding(file=file))["results"]
    return result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]


def test_an_empty_log():
    run = log_of()
    assert run["results"] == []
    assert run["invocations"] == [{"executionSuccessful": True}]


def test_a_finding_without_a_place():
    [result] = log_of(finding())["results"]
    assert "locations" not in result
    [result] = log_of(finding(file="a.py"))["results"]
    assert "region" not in result["locations"][0]["physicalLocation"]


def test_a_finding_of_another_rule_has_no_number():
    [result] = log_of(finding(rule_id="other"))["results"]
    assert "ruleIndex" not in result


def test_files_here_are_relative_and_others_are_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert uri("a b.py") == "a%20b.py"
    assert uri(str(tmp_path / "sub" / "a.py")) == "sub/a.py"
    assert uri("sub/../a.py") == "a.py"
    assert uri("/elsewhere/ü.py") == "file:///elsewhere/%C3%BC.py"
    assert uri(str(Path("..") / "up.py")).startswith("file:///")
    assert uri("a\udcff.py") == "a%FF.py"


@pytest.mark.parametrize("message", ["<script>", 'quotes " and \\', "\x1b[31m\x00", "😀" * 1000])
def test_hostile_messages_are_kept(message):
    [result] = log_of(finding(message=message))["results"]
    assert result["message"]["text"] == message


def test_halves_of_characters_are_spelled_out():
    [result] = log_of(finding(message="a\udcff"))["results"]
    assert result["message"]["text"] == "a\\udcff"


def test_what_failed_is_said():
    run = log_of(failures=["a.py: it is no Python"])
    [invocation] = run["invocations"]
    assert not invocation["executionSuccessful"]
    assert invocation["toolExecutionNotifications"][0]["message"]["text"].startswith("a.py")


def test_a_misspelt_field_is_found():
    text = sarif.render("0.1.0", RULES, [finding(file="a.py", line=1)])
    assert list(unknown(sarif_pydantic.Sarif.model_validate_json(text))) == []
    misspelt = sarif_pydantic.Sarif.model_validate_json(text.replace("startLine", "starLine"))
    assert list(unknown(misspelt)) == ["starLine"]
