"""The JSON report: the rows as they are, strict JSON, readable back without loss; its schema."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from reports.kinds import KINDS_READ, Kind, kind_named, kind_of_data
from reports.rows import Campaign, ProgramRow
from reports.rows.row import Row, spelled_out

_SHOWN_ERRORS = 5
_ON_LINES = frozenset({"programs", "versions", "campaign"})  # fields of a root

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


def render(result: Row) -> str:
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
    told |= {n: getattr(result, n) for n in ("kind", "schema_version") if hasattr(result, n)}
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
    return spelled_out(text).translate(_CONTROL)


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
JSON (Expecting value: line 1 column 1 (char 0)); name a file that --report json:FILE wrote, or \
write it again
    """
    campaign = _loaded(path, [kind_named("campaign")], written_by)
    assert isinstance(campaign, Campaign)
    return campaign


def load_result(path: str | os.PathLike[str]) -> Row:
    """Load the result that a JSON report holds, of whichever kind.

    Raises `ReportReadError` as `load` does.

    Example::

        load_result("report.json").headline.flip
    """
    return _loaded(path, KINDS_READ)


def _loaded(path: str | os.PathLike[str], wanted: Sequence[Kind], written_by: str = "") -> Row:
    data = _read(path, written_by or wanted[0].option)
    found, version = kind_of_data(data), data["schema_version"]
    name_one = f"name one of {', '.join(each.words for each in wanted)}"
    if found is None:
        unknown = f"its kind {data['kind']!r} is" if "kind" in data else "its kind is"
        raise _error(path, f"{unknown} not known", name_one)
    again = f"write it again with {written_by or found.option}{os.fspath(path)}"
    reads = found.root.model_fields["schema_version"].default
    if found.option and (type(version) is not int or version != reads):
        raise _error(
            path,
            f"its schema_version is {version!r}, and this constparity reads {reads}",
            f"read it with the constparity that wrote it, or {again}",
        )
    if found not in wanted:
        raise _error(path, f"it is the report of {found.words}", name_one)
    try:
        result = found.root.model_validate(data)
    except ValidationError as error:
        raise _error(
            path, f"its rows do not fit the schema: {_first_errors(error)}", again
        ) from error
    if isinstance(result, Campaign):
        names = Counter(row.name for row in result.programs)
        if twice := [name for name, count in names.items() if count > 1]:
            raise _error(path, f"two programs have the name {twice[0]!r}", again)
    return result


def _read(path: str | os.PathLike[str], option: str) -> dict[str, Any]:
    """Read the JSON of a report, of whatever version."""
    # A file that is not ours may be a program of the user's: it is not to be written over.
    again = f"name a file that {option}FILE wrote, or write it again"
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except OSError as error:
        what_to_do = f"check the path, or write one with {option}{os.fspath(path)}"
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


def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the reports of a kind that is read again.

    Example::

        >>> json_schema("campaign")["title"]
        'constparity report of a campaign, version 4'
    """
    # As they are written, not as they are read: what is worked out from the rows is there, too.
    root = kind_named(kind).root
    version = root.model_fields["schema_version"].default
    schema = root.model_json_schema(mode="serialization", schema_generator=_OfFiles)
    schema["properties"]["schema_version"] = {"const": version}
    told_by = {"kind"} & root.model_fields.keys()
    schema["required"] = sorted({*schema["required"], "schema_version", *told_by})
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        **schema,
        "title": f"constparity report of a {kind}, version {version}",
    }


def render_schema(kind: str) -> str:
    """Render the JSON Schema as text."""
    return json.dumps(json_schema(kind), indent=1, ensure_ascii=False) + "\n"
