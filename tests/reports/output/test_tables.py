"""CSV and Parquet: every table reads back, and no cell is a formula."""

import csv
import io
from importlib.util import find_spec

import built_grids as built
import pandas
import pytest

from reports import frames
from reports.output import tables
from reports.output.formats import ReportRequest, check_available, parse_report_option, write_report

CONTROL = "\x00\x1b[31m\u202e\ud800 \U0001f600"


@pytest.mark.parametrize("table", tables.TABLES)
def test_parquet_reads_back_as_the_frame_that_it_was(campaigns, table):
    for result in (campaigns.rich(), built.rich(), campaigns.campaign()):
        expected = tables.TABLES[table](result)
        found = pandas.read_parquet(io.BytesIO(tables.render_parquet(result, table)))
        pandas.testing.assert_frame_equal(found, expected)


@pytest.mark.parametrize("table", tables.TABLES)
def test_csv_reads_back_with_every_figure(campaigns, table):
    expected = tables.TABLES[table](campaigns.rich())
    found = pandas.read_csv(io.StringIO(tables.render_csv(campaigns.rich(), table)))
    assert list(found.columns) == list(expected.columns)
    assert len(found) == len(expected)
    for name in expected.select_dtypes("number").columns:
        left = found[name].astype("float64").to_list()
        assert left == pytest.approx(expected[name].astype("float64").to_list(), rel=0, nan_ok=True)


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ('=HYPERLINK("http://x","y")', '\'=HYPERLINK("http://x","y")'),
        ("+1", "'+1"),
        ("-1+1", "'-1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        (" =1", "' =1"),
        ("a=b", "a=b"),
        ('quo"te, comma\nline', 'quo"te, comma\nline'),
        (f"x{CONTROL}", "x\\x00\\u202e\\ud800 \U0001f600"),
        ("<script>", "<script>"),
    ],
)
def test_no_cell_of_csv_is_a_formula(campaigns, name, cell):
    text = tables.render_csv(campaigns.campaign(campaigns.parity(name)))
    [row] = csv.DictReader(io.StringIO(text))
    assert row["program"] == cell


def test_the_files_of_a_request(tmp_path, campaigns):
    request = parse_report_option(f"csv:{tmp_path}/out/r.csv")
    assert [part.path.name for part in request.parts] == [
        "r.csv", "r.metrics.csv", "r.captured_arrays.csv"
    ]  # fmt: skip
    write_report(request, campaigns.rich())
    for part in request.parts:
        text = part.path.read_text("utf-8")
        assert text == tables.render_csv(campaigns.rich(), part.table)
    assert ReportRequest("csv", None).parts == (ReportRequest("csv", None),)
    assert len(parse_report_option("html:r.html").parts) == 1


@pytest.mark.parametrize(("format_", "library"), [("csv", "pandas"), ("parquet", "pyarrow")])
def test_without_the_library_the_error_names_the_extra(monkeypatch, format_, library):
    def found(name):
        return None if name == library else find_spec(name)

    monkeypatch.setattr(tables, "find_spec", found)
    with pytest.raises(frames.TablesMissingError, match=f"{library}.*constparity.tables"):
        check_available(format_)
    check_available("html")


def test_a_message_of_a_megabyte_is_whole(campaigns):
    row = campaigns.parity().model_copy(update={"summary": "x" * 10**6})
    found = pandas.read_csv(io.StringIO(tables.render_csv(campaigns.campaign(row))))
    assert len(found.summary[0]) == 10**6
