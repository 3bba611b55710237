from __future__ import annotations

import copy
import json
from pathlib import Path

import jsonschema
import pytest

import reports
from reports.output import json_file

SCHEMAS = Path(reports.__file__).parent / "schemas"


def problems(data, kind: str = "campaign") -> list[str]:
    schema = json_file.json_schema(kind)
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(data)]


@pytest.fixture
def written(campaigns):
    return json.loads(json_file.render(campaigns.rich()))


@pytest.mark.parametrize("kind", json_file.REPORT_KINDS)
def test_the_published_schema_is_the_one_of_the_records(kind):
    published = (SCHEMAS / f"{kind}.schema.json").read_text("utf-8")
    assert published == json_file.render_schema(kind), f"constparity schema {kind} writes it again"


@pytest.mark.parametrize("kind", json_file.REPORT_KINDS)
def test_it_is_a_json_schema(kind):
    jsonschema.Draft202012Validator.check_schema(json_file.json_schema(kind))


def test_a_report_fits_it_infinities_and_references_included(written):
    assert problems(written) == []


@pytest.mark.parametrize(
    "edit",
    [
        lambda data: data.pop("schema_version"),
        lambda data: data.update(schema_version=3),
        lambda data: data.update(extra=1),
        lambda data: data["programs"][0].update(verdict="fine"),
        lambda data: data["programs"][0]["comparisons"][0].update(metrics=[["a", "b", "c"]]),
        lambda data: data["programs"][0]["observations"][0].update(jaxpr={"same_as": "nobody"}),
        lambda data: data["environment"].pop("jax"),
    ],
)
def test_a_report_with_a_fault_does_not(written, edit):
    edited = copy.deepcopy(written)
    edit(edited)
    assert problems(edited)
