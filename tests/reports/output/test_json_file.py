"""The JSON of a result is read back as it was, and a damaged one is refused."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path

import jsonschema
import pytest

import reports
from parity_tests.cli import app
from reports import ReportReadError
from reports.kinds import KINDS_READ
from reports.output import json_file


def refuse_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


@pytest.fixture
def edited(tmp_path, campaigns):
    """Writes a report after an edit of its data, and returns its path."""

    def write(edit):
        data = json.loads(json_file.render(campaigns.rich()))
        edit(data)
        path = tmp_path / "report.json"
        path.write_text(json.dumps(data))
        return path

    return write


def message(path) -> str:
    with pytest.raises(ReportReadError) as raised:
        json_file.load(path)
    return str(raised.value)


def test_the_report_is_strict_json(campaigns):
    data = json.loads(json_file.render(campaigns.rich()), parse_constant=refuse_constant)
    found = [each for pair in data["programs"][1]["comparisons"] for each in pair["metrics"]]
    leaves = found[2]["leaves"]
    assert leaves[1]["max_rel"] == "Infinity"
    assert leaves[2]["max_rel"] == "NaN"


def test_round_trip_is_exact(tmp_path, campaigns):
    campaign = campaigns.rich()
    text = json_file.render(campaign)
    path = tmp_path / "report.json"
    path.write_text(text, encoding="utf-8")
    loaded = json_file.load(path)
    # NaN is unequal to itself, so the programs with NaN are compared as the text they make.
    assert json_file.render(loaded) == text
    assert loaded.programs[0] == campaign.programs[0]
    assert loaded.programs[2] == campaign.programs[2]
    left, right = loaded.programs[1].comparisons[2], campaign.programs[1].comparisons[2]
    assert left.leaves[1] == right.leaves[1]
    assert left.leaves[1].max_rel == math.inf
    assert math.isnan(left.leaves[2].max_abs)


@pytest.mark.parametrize("value", [math.inf, -math.inf, 0.1, -0.0, 5e-324, 1.7976931348623157e308])
def test_floats_survive_bit_by_bit(value, tmp_path, campaigns):
    row = campaigns.parity()
    leaf = campaigns.leaf(max_abs=value)
    comparison = campaigns.comparison("outputs", "equal", leaves=(leaf,))
    row = row.model_copy(update={"comparisons": (comparison,)})
    path = tmp_path / "report.json"
    path.write_text(json_file.render(campaigns.campaign(row)), encoding="utf-8")
    loaded = json_file.load(path).programs[0].comparisons[0].leaves[0].max_abs
    assert loaded.hex() == value.hex()


def test_text_that_is_no_unicode_is_written_and_read_back(tmp_path, campaigns):
    """A file name outside UTF-8 in an error message must not cost a whole campaign its report."""
    text = json_file.render(campaigns.rich())
    assert "\\udc80" in text
    text.encode("utf-8")


def test_bad_json_names_the_file_and_the_way_out(tmp_path):
    path = tmp_path / "report.json"
    path.write_text('{"schema_version": 2,')
    assert message(path).startswith(f"cannot read the report '{path}': it is not JSON (Expecting")
    assert message(path).endswith("name a file that --report json:FILE wrote, or write it again")


@pytest.mark.parametrize("content", [b"\xff\xfe", b"[" * 200_000, b'{"schema_version": NaN}', b""])
def test_other_bad_json(content, tmp_path):
    path = tmp_path / "report.json"
    path.write_bytes(content)
    assert "it is not JSON" in message(path)


def test_a_missing_file(tmp_path):
    assert "No such file or directory; check the path" in message(tmp_path / "none.json")


@pytest.mark.parametrize("content", ["[]", "{}", "3", '{"schema": 1}'])
def test_json_of_something_else(content, tmp_path):
    path = tmp_path / "report.json"
    path.write_text(content)
    assert "not a constparity report (no schema_version)" in message(path)


@pytest.mark.parametrize("version", [3, 5, "4", True, 4.0, None])
def test_wrong_schema_version(version, edited):
    path = edited(lambda data: data.update(schema_version=version))
    assert message(path) == (
        f"cannot read the report '{path}': its schema_version is {version!r}, and this constparity "
        "reads 4; read it with the constparity that wrote it, or write it again with --report "
        f"json:{path}"
    )


def test_unknown_field(edited):
    path = edited(lambda data: data["programs"][1].update(verdit="parity"))
    assert "programs.1.verdit: Extra inputs are not permitted" in message(path)


def test_missing_field(edited):
    path = edited(lambda data: data["environment"].pop("jax"))
    assert "environment.jax: Field required" in message(path)


def test_many_errors_are_not_all_shown(edited):
    path = edited(lambda data: data["environment"].clear())
    assert "; and 5 more; write it again" in message(path)


SCHEMAS = Path(reports.__file__).parent / "schemas"


def problems(data, kind: str = "campaign") -> list[str]:
    schema = json_file.json_schema(kind)
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(data)]


@pytest.fixture
def written(campaigns):
    return json.loads(json_file.render(campaigns.rich()))


@pytest.mark.parametrize("kind", [each.name for each in KINDS_READ])
def test_the_published_schema_is_the_one_that_is_printed(kind, capsys):
    published = (SCHEMAS / f"{kind}.schema.json").read_text("utf-8")
    assert app.main(["schema", kind]) == 0
    assert capsys.readouterr().out == published, f"constparity schema {kind} writes it again"
    jsonschema.Draft202012Validator.check_schema(json.loads(published))


def test_a_schema_of_no_kind_names_those_that_there_are(capsys):
    assert app.main(["schema", "bench"]) == 4
    said = " ".join(capsys.readouterr().err.replace("│", "").split())
    assert "no kind 'bench'; the kinds are campaign, grid, suite, suite-runs, proofs" in said


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
