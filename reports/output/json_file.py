"""The JSON report: the rows as they are, strict JSON, readable back without loss; its schema."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from reports.rows import SCHEMA_VERSION, Campaign, ProgramRow
from reports.rows.grid import Grid
from reports.rows.proofs import PROOFS_SCHEMA, Proofs
from reports.rows.suite import SUITE_SCHEMA, SuiteResult
from reports.rows.suite_runs import SUITE_RUNS_SCHEMA, SuiteRuns

_SHOWN_ERRORS = 5
_ON_LINES = frozenset({"programs", "versions", "campaign"})  # fields of a root
ReportKind = Literal["campaign", "grid", "suite", "suite-runs", "proofs"]
Result: TypeAlias = Campaign | Grid | SuiteResult | SuiteRuns | Proofs


@dataclass(frozen=True)
class _Kind:
    """A kind of report: its root, its schema version, what it is of, and what writes it."""

    root: type[Campaign] | type[Grid] | type[SuiteResult] | type[SuiteRuns] | type[Proofs]
    version: int
    words: str
    option: str = "--report json:"


_OF_SUITES = "--constparity-report json:"
_KINDS: dict[ReportKind, _Kind] = {
    "campaign": _Kind(Campaign, SCHEMA_VERSION, "one campaign"),
    "grid": _Kind(Grid, SCHEMA_VERSION, "a grid over several versions of JAX"),
    "suite": _Kind(SuiteResult, SUITE_SCHEMA, "a test-suite", _OF_SUITES),
    "suite-runs": _Kind(SuiteRuns, SUITE_RUNS_SCHEMA, "a test-suite on stock JAX", _OF_SUITES),
    "proofs": _Kind(Proofs, PROOFS_SCHEMA, "proofs"),
}
REPORT_KINDS: tuple[ReportKind, ...] = tuple(_KINDS)

# JSON escapes the control characters below a space, and leaves DEL and those of Unicode alone,
# which a terminal obeys as well.
_CONTROL = {number: f"\\u{number:04x}" for number in range(0x7F, 0xA0)}


class ReportReadError(ValueError):
    """A JSON report cannot be read; the message names the file, what is wrong and what to do.

    Example::

        >>> load("no/such/report.json")
        Traceback (most recent call last):
        ...
        reports.output.json_file.ReportReadError: cannot read the report 'no/such/report.json': \
No such file or directory; check the path, or write one with --report json:no/such/report.json
    """


def render(result: Result) -> str:
    """Render a result as JSON text, the answer first; the `kind` of a suite tells it from others.

    JSON has no infinities and no NaN: they become the strings "Infinity", "-Infinity" and "NaN",
    which `load` turns back into floats. A field that has its default is left out, and rows take the
    forms of `reports.rows.in_file`. Each program has a line.

    Example::

        >>> from reports.rows import LeafComparison
        >>> leaf = LeafComparison(path="", rung="mismatch", max_abs=1.0, max_rel=math.inf,
        ...     max_ulp=None, mismatch_share=1.0, first_index=(), passing_rtol=None)
        >>> _strict(leaf.model_dump())["max_rel"]
        'Infinity'
    """
    # Not model_dump_json: it writes infinities as null, which does not load again, and it raises on
    # the lone surrogates that file names outside UTF-8 bring into messages. JSON can escape these,
    # and the escape is what "backslashreplace" spells them with.
    rows = result.model_dump(exclude_defaults=True)
    told: dict[str, Any] = {n: rows.pop(n) for n in ("headline", "provenance") if n in rows}
    if isinstance(result, SuiteResult | SuiteRuns | Proofs):
        told["kind"] = result.kind
    told["schema_version"] = result.schema_version
    return _escaped(_lines(told | rows)) + "\n"


def render_program(row: ProgramRow) -> str:
    """Render one program as its line in the JSON of a campaign."""
    return _escaped(_lines(row.model_dump(exclude_defaults=True)))


def render_root(campaign: Campaign) -> str:
    """Render the fields of a campaign but its programs and its headline, as one line of JSON.

    Example::

        campaign_of(render_root(campaign), map(render_program, campaign.programs)) == campaign
    """
    fields = campaign.model_dump(exclude_defaults=True, exclude={"programs", "headline"})
    return _escaped(_lines(fields))


def campaign_of(root: str, programs: Iterable[str]) -> Campaign:
    """Build the campaign that `render_root` and `render_program` have rendered, bit by bit.

    Raises `ValueError` where they are not of this schema.
    """
    rows = [json.loads(each, parse_constant=_refuse_constant) for each in programs]
    return Campaign.model_validate({**json.loads(root), "programs": rows})


def program_of(text: str) -> ProgramRow:
    """Build the row that `render_program` has rendered. Raises `ValueError`."""
    return ProgramRow.model_validate(json.loads(text, parse_constant=_refuse_constant))


def _escaped(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8").translate(_CONTROL)


def _lines(value: Any) -> str:
    """Write JSON with a line for each field of the root and for each program, none within."""
    if isinstance(value, dict) and value.keys() & _ON_LINES:
        fields = [f"{json.dumps(name)}:{_lines(each)}" for name, each in value.items()]
        return "{\n" + ",\n".join(fields) + "\n}"
    if isinstance(value, list | tuple) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(map(_lines, value)) + "\n]"
    try:
        return _dumped(value)
    except ValueError:  # it has a float that JSON lacks; to look for one takes longer than to write
        return _dumped(_strict(value))


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def load(path: str | os.PathLike[str], *, written_by: str = "--report json:") -> Campaign:
    """Load the campaign that a JSON report holds.

    `written_by` is the option that writes such files, up to their names, for the messages.

    Raises `ReportReadError` where the file cannot be read, is not JSON, has another schema version
    than this constparity, or has fields that are missing, unknown or of another type.

    Example::

        >>> load(os.devnull)
        Traceback (most recent call last):
        ...
        reports.output.json_file.ReportReadError: cannot read the report '/dev/null': it is not \
JSON (Expecting value: line 1 column 1 (char 0)); write it again with --report json:/dev/null
    """
    option = f"{written_by}{os.fspath(path)}"
    campaign = _validated("campaign", _read(path, option), path, option)
    assert isinstance(campaign, Campaign)
    return campaign


def load_result(path: str | os.PathLike[str]) -> Result:
    """Load the campaign, the grid or the test-suite that a JSON report holds, whichever it is.

    Raises `ReportReadError` as `load` does.

    Example::

        load_result("report.json").headline.flip
    """
    data = _read(path, f"--report json:{os.fspath(path)}")
    kind = _kind_of(data)
    return _validated(kind, data, path, f"{_KINDS[kind].option}{os.fspath(path)}")


def _kind_of(data: dict[str, Any]) -> ReportKind:
    for kind in ("suite", "suite-runs", "proofs"):
        if data.get("kind") == kind:
            return kind
    return "grid" if "versions" in data else "campaign"


def _validated(
    kind: ReportKind, data: dict[str, Any], path: str | os.PathLike[str], option: str
) -> Result:
    again = f"write it again with {option}"
    found, wanted = _KINDS[_kind_of(data)], _KINDS[kind]
    version = data["schema_version"]
    if type(version) is not int or version != found.version:
        raise _error(
            path,
            f"its schema_version is {version!r}, and this constparity reads {found.version}",
            f"read it with the constparity that wrote it, or {again}",
        )
    if found is not wanted:
        raise _error(path, f"it is the report of {found.words}", f"name one of {wanted.words}")
    try:
        return wanted.root.model_validate(data)
    except ValidationError as error:
        raise _error(
            path, f"its rows do not fit the schema: {_first_errors(error)}", again
        ) from error


def _read(path: str | os.PathLike[str], option: str) -> dict[str, Any]:
    """Read the JSON of a report, of whatever version."""
    again = f"write it again with {option}"
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except OSError as error:
        what_to_do = f"check the path, or write one with {option}"
        raise _error(path, error.strerror or str(error), what_to_do) from error
    except (ValueError, RecursionError) as error:
        raise _error(path, f"it is not JSON ({error})", again) from error
    if not isinstance(data, dict) or "schema_version" not in data:
        raise _error(path, "it is JSON, but not a constparity report (no schema_version)", again)
    return data


def _strict(value: Any) -> Any:
    """Replace the floats that JSON lacks by strings, in the spelling that pydantic reads."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON; write it as a string")


def _first_errors(error: ValidationError) -> str:
    errors = error.errors(include_url=False, include_input=False)
    shown = [
        f"{'.'.join(map(str, item['loc'])) or 'the report'}: {item['msg']}"
        for item in errors[:_SHOWN_ERRORS]
    ]
    if len(errors) > len(shown):
        shown.append(f"and {len(errors) - len(shown)} more")
    return "; ".join(shown)


def _error(path: str | os.PathLike[str], what: str, what_to_do: str) -> ReportReadError:
    return ReportReadError(f"cannot read the report {os.fspath(path)!r}: {what}; {what_to_do}")


# -- its JSON Schema, made from the records -------------------------------------------------------


class _OfFiles(GenerateJsonSchema):
    """As pydantic's, with the floats that a report has as strings, since JSON lacks them."""

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        number = super().float_schema(schema)
        return {"anyOf": [number, {"enum": ["Infinity", "-Infinity", "NaN"]}]}


def json_schema(kind: ReportKind) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the reports of a campaign, a grid or a suite.

    Example::

        >>> json_schema("campaign")["title"]
        'constparity report of a campaign, version 4'
    """
    # As they are written, not as they are read: what is worked out from the rows is there, too.
    root, version = _KINDS[kind].root, _KINDS[kind].version
    schema = root.model_json_schema(mode="serialization", schema_generator=_OfFiles)
    schema["properties"]["schema_version"] = {"const": version}
    told_by = {"kind"} & root.model_fields.keys()
    schema["required"] = sorted({*schema["required"], "schema_version", *told_by})
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        **schema,
        "title": f"constparity report of a {kind}, version {version}",
    }


def render_schema(kind: ReportKind) -> str:
    """Render the JSON Schema as text."""
    return json.dumps(json_schema(kind), indent=1, ensure_ascii=False) + "\n"
