"""The JSON Schema of a report, made from the records."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from reports.rows import SCHEMA_VERSION, Campaign
from reports.rows.grid import Grid

ReportKind = Literal["campaign", "grid"]
_ROOTS: dict[ReportKind, type[Campaign] | type[Grid]] = {"campaign": Campaign, "grid": Grid}
REPORT_KINDS: tuple[ReportKind, ...] = tuple(_ROOTS)


class _OfFiles(GenerateJsonSchema):
    """As pydantic's, with the floats that a report has as strings, since JSON lacks them."""

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        number = super().float_schema(schema)
        return {"anyOf": [number, {"enum": ["Infinity", "-Infinity", "NaN"]}]}


def json_schema(kind: ReportKind) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the reports of a campaign or of a grid.

    Example::

        >>> json_schema("campaign")["title"]
        'constparity report of a campaign, version 4'
    """
    # As they are written, not as they are read: what is worked out from the rows is there, too.
    schema = _ROOTS[kind].model_json_schema(mode="serialization", schema_generator=_OfFiles)
    schema["properties"]["schema_version"] = {"const": SCHEMA_VERSION}
    schema["required"] = sorted({*schema["required"], "schema_version"})
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        **schema,
        "title": f"constparity report of a {kind}, version {SCHEMA_VERSION}",
    }


def render(kind: ReportKind) -> str:
    """Render the JSON Schema as text.

    Example::

        Path("campaign.schema.json").write_text(render("campaign"), encoding="utf-8")
    """
    return json.dumps(json_schema(kind), indent=1, ensure_ascii=False) + "\n"
