"""SARIF 2.1.0, the format of findings that code scanning reads, of plain records.

Its JSON is written here as it stands in a file, and the tests hold it to the schema. sarif-om had
its last release in 2019, and sarif-pydantic takes unknown fields, so that a misspelt one would be
written and shown nowhere.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, Literal
from urllib.parse import quote

from reports.rows.row import spelled_out
from reports.views.texts import cut, visible

Level = Literal["error", "warning", "note"]

MOST_RESULTS = 25_000  # code scanning of GitHub takes no more of a run, and shows 5,000
_TEXT_LENGTH = 1000

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


@dataclass(frozen=True)
class SarifRule:
    """A kind of finding: its code, its title, and what it means and what helps."""

    id: str
    title: str
    help: str


@dataclass(frozen=True)
class SarifFinding:
    """A finding; lines and columns count from 1, and a finding without a file has no place.

    `snippet` is the text of the line, `properties` are figures that readers of SARIF may sort by.
    """

    rule_id: str
    message: str
    level: Level
    file: str | None = None
    line: int | None = None
    column: int | None = None
    snippet: str = ""
    properties: Mapping[str, object] = field(default_factory=dict)


def render(
    version: str,
    rules: Sequence[SarifRule],
    findings: Sequence[SarifFinding],
    failures: Sequence[str] = (),
    notes: Sequence[str] = (),
    *,
    most: int | None = None,
) -> str:
    """Return a SARIF log as JSON text.

    `failures` say what the tool could not do, `notes` what else a reader should know. Findings
    beyond the first `most`, or the limit of code scanning, are left out, which a note says.
    Files below the working directory are named relative to it, as code scanning expects.
    """
    shown_findings = findings[: MOST_RESULTS if most is None else most]
    if len(shown_findings) < len(findings):
        left_out = len(findings) - len(shown_findings)
        notes = [
            *notes,
            f"{left_out:,} of {len(findings):,} findings are left out, the last of them, to stay "
            "within the limits of code scanning; the JSON report has them",
        ]
    told = [{"level": "error", "message": _message(each)} for each in failures]
    told += [{"level": "note", "message": _message(each)} for each in notes]
    invocation: dict[str, Any] = {"executionSuccessful": not failures}
    if told:
        invocation["toolExecutionNotifications"] = told
    numbers = {rule.id: number for number, rule in enumerate(rules)}
    driver = {
        "name": "constparity",
        "semanticVersion": version,
        "rules": [
            {
                "id": rule.id,
                "shortDescription": _message(rule.title),
                "fullDescription": _message(rule.title),
                "help": _message(rule.help),
            }
            for rule in rules
        ],
    }
    run = {
        "tool": {"driver": driver},
        "results": [_result(each, numbers.get(each.rule_id)) for each in shown_findings],
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, ensure_ascii=False, indent=2) + "\n"


def shown(text: str) -> str:
    """Return a text as findings and notes have it: cut to a length, with nothing invisible."""
    return visible(cut(text, _TEXT_LENGTH))


def _result(finding: SarifFinding, number: int | None) -> dict[str, Any]:
    result: dict[str, Any] = {"ruleId": finding.rule_id}
    if number is not None:
        result["ruleIndex"] = number
    result |= {"level": finding.level, "message": _message(finding.message)}
    if finding.file is not None:
        result["locations"] = [{"physicalLocation": _location(finding, finding.file)}]
    if finding.properties:
        result["properties"] = dict(finding.properties)
    return result


def _location(finding: SarifFinding, file: str) -> dict[str, Any]:
    uri = _uri(file)
    artifact = {"uri": uri} if uri.startswith("file:") else {"uri": uri, "uriBaseId": "%SRCROOT%"}
    location: dict[str, Any] = {"artifactLocation": artifact}
    if finding.line is not None:
        region: dict[str, Any] = {"startLine": finding.line}
        if finding.column is not None:
            region["startColumn"] = finding.column
        if finding.snippet:
            region["snippet"] = _message(finding.snippet)
        location["region"] = region
    return location


def _message(text: str) -> dict[str, str]:
    return {"text": spelled_out(text)}


def _uri(file: str) -> str:
    """Return the URI of a file; surrogates of names outside UTF-8 are escaped as their bytes."""
    absolute = Path(os.path.abspath(file))
    here = Path.cwd()
    if absolute.is_relative_to(here):
        path: PurePath = absolute.relative_to(here)
        return _quoted(path)
    return "file://" + _quoted(absolute)


def _quoted(path: PurePath) -> str:
    # A report that somebody sent may have halves of characters that no file name brings.
    name = path.as_posix()
    try:
        return quote(os.fsencode(name))
    except UnicodeEncodeError:
        return quote(name.encode("utf-8", "backslashreplace"))
