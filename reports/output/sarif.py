"""SARIF 2.1.0, the format of findings that code scanning reads, of plain records.

The models are the part of SARIF that we write. sarif-om had its last release in 2019, and
sarif-pydantic takes unknown fields, so that a misspelt one would be written and shown nowhere.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Literal
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

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
) -> str:
    """Return a SARIF log as JSON text.

    `failures` say what the tool could not do, `notes` what else a reader should know.

    Files below the working directory are named relative to it, as code scanning expects.
    """
    driver = _Driver(
        name="constparity",
        semantic_version=version,
        rules=[
            _Rule(
                id=rule.id,
                short_description=_Message(text=rule.title),
                full_description=_Message(text=rule.title),
                help=_Message(text=rule.help),
            )
            for rule in rules
        ],
    )
    numbers = {rule.id: number for number, rule in enumerate(rules)}
    results = [_result(each, numbers.get(each.rule_id)) for each in findings]
    told = [
        _Notification(level="error", message=_Message(text=_writable(each))) for each in failures
    ]
    told += [_Notification(level="note", message=_Message(text=_writable(each))) for each in notes]
    invocation = _Invocation(
        execution_successful=not failures, tool_execution_notifications=told or None
    )
    run = _Run(tool=_Tool(driver=driver), results=results, invocations=[invocation])
    log = _Log(runs=[run])
    return log.model_dump_json(by_alias=True, exclude_none=True, indent=2) + "\n"


def shown(text: str) -> str:
    """Return a text as findings and notes have it: cut to a length, with nothing invisible."""
    return visible(cut(text, _TEXT_LENGTH))


def _result(finding: SarifFinding, number: int | None) -> _Result:
    return _Result(
        rule_id=finding.rule_id,
        rule_index=number,
        level=finding.level,
        message=_Message(text=_writable(finding.message)),
        locations=[_location(finding, finding.file)] if finding.file is not None else None,
        properties=dict(finding.properties) or None,
    )


def _location(finding: SarifFinding, file: str) -> _Location:
    region = None
    if finding.line is not None:
        snippet = _Message(text=finding.snippet) if finding.snippet else None
        region = _Region(start_line=finding.line, start_column=finding.column, snippet=snippet)
    uri = _uri(file)
    is_absolute = uri.startswith("file:")
    artifact = _Artifact(uri=uri, uri_base_id=None if is_absolute else "%SRCROOT%")
    return _Location(physical_location=_Physical(artifact_location=artifact, region=region))


def _writable(text: str) -> str:
    """Return a text that UTF-8 can hold: file names outside UTF-8 bring halves of characters."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


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


# -- the part of SARIF that we write ---------------------------------------------------------------


class _Sarif(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )


class _Message(_Sarif):
    text: str


class _Rule(_Sarif):
    id: str
    short_description: _Message
    full_description: _Message
    help: _Message


class _Driver(_Sarif):
    name: str
    semantic_version: str
    rules: list[_Rule]


class _Tool(_Sarif):
    driver: _Driver


class _Region(_Sarif):
    start_line: int
    start_column: int | None = None
    snippet: _Message | None = None


class _Artifact(_Sarif):
    uri: str
    uri_base_id: Literal["%SRCROOT%"] | None = None


class _Physical(_Sarif):
    artifact_location: _Artifact
    region: _Region | None = None


class _Location(_Sarif):
    physical_location: _Physical


class _Result(_Sarif):
    rule_id: str
    rule_index: int | None = None
    level: Level
    message: _Message
    locations: list[_Location] | None = None
    properties: dict[str, object] | None = None


class _Notification(_Sarif):
    level: Level
    message: _Message


class _Invocation(_Sarif):
    execution_successful: bool
    tool_execution_notifications: list[_Notification] | None = None


class _Run(_Sarif):
    tool: _Tool
    results: list[_Result]
    invocations: list[_Invocation]
    column_kind: Literal["unicodeCodePoints"] = "unicodeCodePoints"


class _Log(_Sarif):
    schema_: str = Field(default=SCHEMA, alias="$schema")
    version: Literal["2.1.0"] = "2.1.0"
    runs: list[_Run]
