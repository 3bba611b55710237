"""DataFrames of a result: every figure, documented columns, and a clear error without pandas."""

import json
import re
import subprocess
import sys

import built_grids as built
import pandas
import pytest

from reports import frames
from reports.rows import CapturedArray, metrics

TABLES = {
    frames.programs: frames.PROGRAMS,
    frames.metrics: frames.METRICS,
    frames.captured_arrays: frames.CAPTURED_ARRAYS,
}


@pytest.mark.parametrize("table", TABLES, ids=lambda each: each.__name__)
def test_columns_are_those_that_are_declared(campaigns, table):
    for result in (campaigns.rich(), campaigns.campaign(), built.rich()):
        found = table(result)
        assert [(name, str(dtype)) for name, dtype in found.dtypes.items()] == [
            (column.name, column.dtype) for column in TABLES[table]
        ]


def test_programs_have_their_verdicts_in_order(campaigns):
    found = frames.programs(campaigns.rich())
    assert list(found.verdict) == ["parity", "difference", "could not compare"]
    assert list(found.flip.fillna("-")) == ["-", "-", "could not compare"]
    assert found.failures[1] == "jax-simplified: timeout at call: TimeLimit"
    assert found.max_rel.isna().all()  # outputs were not compared across the flip


def test_the_worst_output_across_the_flip(campaigns):
    row = campaigns.difference()
    across = tuple(
        each.model_copy(update={"left": "jax-legacy", "right": "jax-simplified"})
        for each in row.comparisons
    )
    flip = campaigns.not_compared().flip
    row = row.model_copy(update={"comparisons": across, "flip": flip})
    [found] = frames.programs(campaigns.campaign(row)).to_dict("records")
    assert (found["rung"], found["max_abs"], found["max_rel"]) == ("mismatch", 3.5, float("inf"))
    assert found["max_ulp"] == 2**40


def test_every_metric_that_was_measured_is_there(campaigns):
    campaign = campaigns.rich()
    found = frames.metrics(campaign)
    told = {
        (row.program, row.side, row.metric): row.words if row.unit == "words" else row.value
        for row in found.itertuples()
    }
    expected = {
        (row.name, seen.side, metric.name): value
        for row in campaign.programs
        for seen in row.observations
        for metric in metrics.METRICS
        if (value := metric.read(seen)) is not None
    }
    assert told == expected
    assert len(found) == len(expected)


def test_captured_arrays(campaigns):
    array = CapturedArray(
        file="m.py", line=3, function="f", shape=(4, 8), dtype="float32", bytes=128, sharding="",
        sha256="ab", uses=2, fate="hoisted", copies=3, code="x @ w",
    )  # fmt: skip
    row = campaigns.parity("f", ("jax-simplified",))
    seen = row.observations[0].model_copy(update={"ledger": (array,)})
    campaign = campaigns.campaign(row.model_copy(update={"observations": (seen,)}))
    [found] = json.loads(frames.captured_arrays(campaign).to_json(orient="records"))
    assert found == {
        "version": "0.10.2", "program": "f", "side": "jax-simplified", "file": "m.py", "line": 3,
        "function": "f", "code": "x @ w", "shape": "4,8", "dtype": "float32", "bytes": 128,
        "sharding": "", "sha256": "ab", "uses": 2, "fate": "hoisted", "copies": 3, "alike": 1,
        "written": False, "note": "",
    }  # fmt: skip


def test_a_grid_has_the_rows_of_each_version():
    grid = built.rich()
    ran = [each for each in grid.versions if each.campaign]
    found = frames.programs(grid)
    assert list(dict.fromkeys(found.version)) == [each.label for each in ran]
    assert len(found) == sum(len(each.campaign.programs) for each in ran)


def test_lone_surrogates_are_spelled_as_in_json(campaigns):
    row = campaigns.parity("bad\udcff")
    assert list(frames.programs(campaigns.campaign(row)).program) == [r"bad\udcff"]


def test_pandas_is_imported_when_a_table_is_made():
    script = "import reports; reports.frames; import sys; print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


def test_without_pandas_the_error_names_the_extra(campaigns, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(frames.TablesMissingError, match=re.escape("constparity[tables]")):
        frames.programs(campaigns.rich())


def test_frames_of_two_results_can_be_put_together(campaigns):
    both = pandas.concat([frames.programs(campaigns.rich()), frames.programs(built.rich())])
    assert str(both.max_ulp.dtype) == "UInt64"
