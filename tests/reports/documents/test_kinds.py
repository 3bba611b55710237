"""A kind is two files of one name and a line: it has HTML, Markdown, comments and JSON then."""

import sys
from types import ModuleType

import built_grids
import built_suites
import pytest

from parity_tests.diagnosis.diagnose import Diagnoses
from reports import documents, kinds, render_report
from reports.document import Document
from reports.rows.row import Row


class Planted(Row):
    """A new kind of result, as it would stand in reports/rows/planted.py."""

    __module__ = "reports.rows.planted"
    count: int


@pytest.fixture
def planted(monkeypatch):
    module = ModuleType("reports.documents.planted")
    module.document = lambda found: Document(f"{found.count} things", "good", (), ())
    monkeypatch.setitem(sys.modules, module.__name__, module)
    line = kinds.Kind("planted", "planted.Planted", "things", option="")
    monkeypatch.setattr(kinds, "KINDS", (*kinds.KINDS, line))
    return Planted(count=3)


@pytest.mark.parametrize(
    ("format_", "begins"),
    [
        ("html", "<!DOCTYPE html>"),
        ("md", "# constparity: 3 things\n"),
        ("comment", "### constparity: 3 things\n"),
        ("json", '{\n "count": 3\n}\n'),
    ],
)
def test_a_new_kind_has_the_formats_that_all_have(planted, format_, begins):
    assert render_report(format_, planted).lstrip().startswith(begins)


@pytest.mark.parametrize("format_", ["junit", "sarif", "svg", "csv"])
def test_a_format_that_a_kind_does_not_have_is_refused(planted, format_):
    with pytest.raises(ValueError, match=f"a Planted cannot be written in the format {format_}"):
        render_report(format_, planted)


def test_each_kind_finds_the_file_of_its_name(campaigns):
    campaign, grid, suite = campaigns.rich(), built_grids.rich(), built_suites.rich()
    assert documents.document(campaign).answer == "flip: not known"
    assert documents.document(grid).answer == "flip: no on some versions"
    assert documents.document(suite).answer.startswith("legacy and simplified differ in 2 programs")


def test_what_doctor_finds_has_json_alone():
    found = Diagnoses(interpreters=())
    assert kinds.kind_of(found) not in kinds.KINDS
    assert kinds.kind_of(found).formats == ("json",)
    assert "schema_version" not in type(found).model_fields
