"""The JSON Schema of a report, made from the records."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from reports.rows import SCHEMA_VERSION, Campaign
from reports.rows.grid import Grid
from reports.rows.suite import SUITE_SCHEMA, SuiteResult
from reports.rows.suite_runs import SUITE_RUNS_SCHEMA, SuiteRuns

ReportKind = Literal["campaign", "grid", "suite", "suite-runs"]
_ROOTS: dict[ReportKind, type[Campaign] | type[Grid] | type[SuiteResult] | type[SuiteRuns]] = {
    "campaign": Campaign,
    "grid": Grid,
    "suite": SuiteResult,
    "suite-runs": SuiteRuns,
}
_OF_SUITES: dict[ReportKind, int] = {"suite": SUITE_SCHEMA, "suite-runs": SUITE_RUNS_SCHEMA}
REPORT_KINDS: tuple[ReportKind, ...] = tuple(_ROOTS)


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
    schema = _ROOTS[kind].model_json_schema(mode="serialization", schema_generator=_OfFiles)
    version = _OF_SUITES.get(kind, SCHEMA_VERSION)
    schema["properties"]["schema_version"] = {"const": version}
    told_by = {"kind"} if kind in _OF_SUITES else set()
    schema["required"] = sorted({*schema["required"], "schema_version", *told_by})
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        **schema,
        "title": f"constparity report of a {kind}, version {version}",
    }


def render(kind: ReportKind) -> str:
    """Render the JSON Schema as text."""
    return json.dumps(json_schema(kind), indent=1, ensure_ascii=False) + "\n"
