"""One result in all formats: each number of the JSON is the same wherever it is shown.

The result has no number twice, so that a figure in another place is seen. Each number of the JSON
is changed once, as a planted fault, and every format that shows it must be found to differ.
"""

import io
import json
import re
from itertools import count

import pandas
import pytest
from built_campaigns import captured_array
from html_pages import Page
from junitparser import JUnitXml, Properties

from reports import rows
from reports.output import formats, json_file, tables
from reports.rows import Campaign, metrics
from reports.views import figures

STOCK = ("jax-legacy", "jax-simplified")
OF_A_POINT = {
    "call_seconds": "seconds", "dispatch_seconds": "seconds", "compile_seconds": "seconds",
    "text_bytes": "bytes", "inlined_bytes": "bytes", "optimised_constant_bytes": "bytes",
    "argument_bytes": "bytes", "temporary_bytes": "bytes",
}  # fmt: skip
# Both sides capture the same arrays, which pages show once.
OF_THE_ARRAY = ("line", "shape", "bytes", "uses")


# -- a result in which no number stands twice ------------------------------------------------------


def apart():
    """Numbers that stay apart when they are rounded to two digits."""
    return (round(1009 * 1.1**power) for power in count())


def distinct(value, numbers):
    """The same JSON with each number replaced by one that stands nowhere else."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return next(numbers)
    if isinstance(value, float):
        return next(numbers) + 0.5
    if isinstance(value, dict):
        return {name: distinct(each, numbers) for name, each in value.items()}
    return [distinct(each, numbers) for each in value]


def array(side, line):
    fate, copies = ("hoisted", 3) if side == STOCK[1] else ("inlined", 1)
    return captured_array(
        line=line, shape=(4, 8), bytes=128, uses=2, fate=fate, copies=copies, alike=2,
        code="x @ weights",
    )  # fmt: skip


def observation(campaigns, side):
    """Every figure that an observation can have; sides are not equal, or the JSON has them once."""
    n = 3 + STOCK.index(side)
    return campaigns.observation(
        "step", side,
        jaxpr=rows.JaxprCounts(
            equations=n, captured_arrays=n, captured_bytes=n, captured_values="words",
            working_equations={"add": n, "mul": n}, operations=n, committed_arrays=n,
            sharded_arrays=n, donated_types=n,
        ),
        stablehlo=rows.StableHloCounts(
            text_bytes=n, bytecode_bytes=n, operations=n, functions=n, constants=n,
            constant_bytes=n, operations_by_name={"stablehlo.add": n},
            array_operations={"stablehlo.add": n}, main_order="argument", argument_types="f32",
            callbacks=n, marks_lost=n,
        ),
        executable=rows.ExecutableCounts(
            instructions=n, fusions=n, constants=n, constant_bytes=n, serialized_bytes=n, devices=n,
            flops=n,
        ),
        host_memory=rows.HostMemory(trace_and_lower=n, compile=n, fresh=True),
        constant_buffers=n,
        recompiles=n,
        times=rows.StageTimes(
            trace=n * 1.0, lower=n * 1.0, compile=n * 1.0, first_call=n * 1.0, call=n * 1.0,
            dispatch=n * 1.0,
            call_samples=n, cached_compile=n * 1.0,
        ),
        ledger=(array(side, 1), array(side, 2)),
    )  # fmt: skip


def swept(campaigns, row):
    """Every figure that a sweep can have, of another machine, whose figures are shown as well."""
    [point, *others] = campaigns.sweep(row.name, row.source).points
    point = point.model_copy(update={"temporary_bytes": 1})
    return campaigns.sweep(
        row.name, row.source, points=(point, *others),
        environment=campaigns.ENVIRONMENT.model_copy(update={"device_count": 8, "cpu_count": 8}),
    )  # fmt: skip


@pytest.fixture(scope="module")
def truth(campaigns):
    """What is in the JSON of a program with every figure, whose flip has a price."""
    leaf = campaigns.leaf("ulp", max_abs=1.0, max_rel=1.0, max_ulp=1, mismatch_share=1.0,
                          first_index=(1, 1), passing_rtol=1.0)  # fmt: skip
    outputs = rows.Comparison(metric="outputs", left=STOCK[0], right=STOCK[1], outcome="equal",
                              left_value="one", right_value="one", leaves=(leaf,))  # fmt: skip
    time = rows.TimeComparison(metric="call", left=STOCK[0], right=STOCK[1], verdict="slower",
                               ratio=1.0, low=1.0, high=1.0, p_value=1.0, margin=1.0,
                               samples=(1, 1))  # fmt: skip
    hazard = rows.Hazard(kind="folded by legacy alone", file="model.py", line=1,
                         array="float32[4,8]", what="what", fix="fix", operations=1.0)  # fmt: skip
    reason = rows.FlipReason(outcome="safe but slower or larger", kind="time", what="call is slow",
                             subject="call", ratio=1.0, where="m.py:1", action="fix")  # fmt: skip
    row = rows.ProgramRow(
        name="step", source="model.py:12", summary="", verdict="parity", reasons=(),
        observations=tuple(observation(campaigns, side) for side in STOCK), comparisons=(outputs,),
        times=(time,), hazards=(hazard,),
        flip=rows.FlipVerdict(left=STOCK[0], right=STOCK[1], outcome=reason.outcome,
                              reasons=(reason,)),
    )  # fmt: skip
    of_row = campaigns.campaign(row, sides=STOCK, sweeps=(swept(campaigns, row),))
    whole, numbers = json.loads(json_file.render(of_row)), apart()
    whole["programs"] = distinct(whole["programs"], numbers)
    whole["sweeps"] = distinct(whole["sweeps"], numbers)
    of_before, of_after = (seen["ledger"] for seen in whole["programs"][0]["observations"])
    for before, after in zip(of_before, of_after, strict=True):
        after |= {name: before[name] for name in OF_THE_ARRAY}
    return whole


def campaign_of(text):
    return Campaign.model_validate(text)


def numbers_of(value, path=()):
    """Each number of a JSON value with the path to it."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from numbers_of(each, (*path, name))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from numbers_of(each, (*path, index))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value


def changed(text, path, value):
    if not path:
        return value
    copy = list(text) if isinstance(text, list) else dict(text)
    copy[path[0]] = changed(text[path[0]], path[1:], value)
    return copy


# -- what each format must show of it --------------------------------------------------------------


def expected_metrics(campaign):
    return {
        (row.name, seen.side, metric.name): value
        for row in campaign.programs
        for seen in row.observations
        for metric in metrics.METRICS
        if (value := metric.read(seen)) is not None
    }


def check_junit(campaign, text):
    [suite] = JUnitXml.fromstring(text.encode())
    for row, case in zip(campaign.programs, suite, strict=True):
        found = {each.name: each.value for each in case.child(Properties)}
        assert case.name == row.name
        assert (found["verdict"], found["flip"]) == (row.verdict, row.flip.outcome)
        for (_, side, name), value in expected_metrics(campaign).items():
            assert found[f"{name} [{side}]"] == str(value)
        for each in row.times:
            assert found[f"{each.metric} ratio [{each.right} to {each.left}]"] == str(each.ratio)
    assert suite.tests == len(campaign.programs)


def check_tables(campaign, of):
    """`of` reads a table by its name, as a DataFrame."""
    found = of("metrics")
    told = {
        (each.program, each.side, each.metric): each.words if each.unit == "words" else each.value
        for each in found.itertuples()
    }
    assert told == expected_metrics(campaign)
    [row], programs = campaign.programs, of("programs")
    [leaf] = row.comparisons[0].leaves
    of_leaf = {"max_abs": leaf.max_abs, "max_rel": leaf.max_rel, "max_ulp": leaf.max_ulp}
    of_flip = {"flip": row.flip.outcome, "ratio": row.flip.reasons[0].ratio}
    for name, value in {"verdict": row.verdict, **of_flip, **of_leaf}.items():
        assert programs[name].to_list() == [value], name
    expected = [
        (seen.side, each.line, ",".join(map(str, each.shape)), each.bytes, each.uses, each.copies,
         each.alike)
        for seen in row.observations
        for each in seen.ledger
    ]  # fmt: skip
    names = ["side", "line", "shape", "bytes", "uses", "copies", "alike"]
    assert list(of("captured_arrays")[names].itertuples(index=False, name=None)) == expected


def check_csv(campaign, texts):
    check_tables(campaign, lambda name: pandas.read_csv(io.StringIO(texts[name])))


def check_parquet(campaign, contents):
    check_tables(campaign, lambda name: pandas.read_parquet(io.BytesIO(contents[name])))


def check_sarif(campaign, text):
    [row] = campaign.programs
    before, after = (seen.ledger for seen in row.observations)
    expected = {
        (left.line, f"{left.dtype}[{','.join(map(str, left.shape))}]", left.bytes,
         f"{left.fate} {left.copies} times before the flip, {right.fate} {right.copies} times "
         "after it")
        for left, right in zip(before, after, strict=True)
    }  # fmt: skip
    found, hazards = set(), []
    for each in json.loads(text)["runs"][0]["results"]:
        line = each["locations"][0]["physicalLocation"]["region"]["startLine"]
        if each["ruleId"] == "captured-array":
            kind, _, fates = each["message"]["text"].partition(". Found in")[0].partition(": ")
            found.add((line, kind.rpartition(", ")[0], each["properties"]["bytes"], fates))
        else:
            hazards.append((each["ruleId"], line))
    assert found == expected
    assert hazards == [("folded-by-legacy-alone", row.hazards[0].line)]


def expected_rows(campaign):
    """Cells that stand in one line of the pages, under the caption of their table."""
    [row] = campaign.programs
    seen = row.observations
    for metric in metrics.METRICS:
        if metric.figure and metric.figure.heading != "proof":
            label = f"{metric.figure.heading}: {metric.figure.label}".removesuffix(": ")
            cells = [figures.cell(metric.read(each), metric.unit).text for each in seen]
            yield "Figures by side", [label, *cells]
    for each in seen:
        counts = (
            each.proof.array_literals, each.proof.constvars, each.proof.const_args,
            each.proof.unique_captured,
        )  # fmt: skip
        inlined = figures.humanise_bytes(each.proof.inlined_constant_bytes)
        yield "Proof of the side in force", [each.side, *(f"{n:,}" for n in counts), inlined]
    operations = [each.stablehlo.operations_by_name["stablehlo.add"] for each in seen]
    yield "StableHLO operations", ["stablehlo.add", *(f"{count:,}" for count in operations)]
    for arrays in zip(*(each.ledger for each in seen), strict=True):
        of = arrays[0]
        yield "Captured arrays, and what became of each", [
            f"model.py:{of.line} in step", f"float32[{','.join(map(str, of.shape))}]",
            figures.humanise_bytes(of.bytes), f"{of.uses:,}",
            *(f"{a.fate}: {a.copies} of equal value for {a.alike} arrays" for a in arrays),
        ]  # fmt: skip
    [leaf] = row.comparisons[0].leaves
    yield "Numeric ladder", [
        f"{leaf.max_abs:.3g}", f"{leaf.max_rel:.3g}", f"{leaf.max_ulp:,}",
        figures.humanise_share(leaf.mismatch_share), figures.humanise_index(leaf.first_index),
        f"{leaf.passing_rtol:.3g}",
    ]  # fmt: skip
    [time] = row.times
    ratio = figures.humanise_ratio
    yield "Times, judged", [
        ratio(time.ratio), f"{ratio(time.low)} to {ratio(time.high)}", f"{time.p_value:.3g}",
        f"{time.margin:.1%}", f"{time.samples[0]} / {time.samples[1]}",
    ]  # fmt: skip
    yield "Hazards of the flip", [f"model.py:{row.hazards[0].line}"]
    for leaf in row.observations[0].outputs:
        if leaf.shape:
            shape = ",".join(map(str, leaf.shape))
            yield "Outputs", [f"{leaf.dtype}[{shape}] {leaf.sha256[:12]}"]


def expected_rows_of_sweeps(campaign):
    [sweep] = campaign.sweeps
    for each in sweep.points:
        yield [
            f"{each.threshold:,}", f"{each.const_args:,}",
            *(figures.cell(getattr(each, name), unit).text for name, unit in OF_A_POINT.items()),
        ]  # fmt: skip


def said_of_sweeps(campaign):
    """What a page says of a sweep in sentences."""
    [sweep] = campaign.sweeps
    facts, here = sweep.environment, campaign.environment
    return (
        f"Recommended: {sweep.recommended:,} bytes",
        f"apart by {figures.humanise_share(sweep.call_noise)} for a call "
        f"and {figures.humanise_share(sweep.compile_noise)} to compile",
        f"device count {facts.device_count} (the result: {here.device_count}), "
        f"cpu count {facts.cpu_count} (the result: {here.cpu_count})",
    )


def in_order(cells, line):
    """Whether cells stand in a line in their order; others may stand between them."""
    rest = iter(line)
    return all(cell in rest for cell in cells)


def lines_below(caption, text):
    table = text.partition(caption)[2].partition("\n\n")[2].partition("\n\n")[0]
    return [
        [cell.replace("\\", "").strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in table.splitlines()
    ]


def check_md(campaign, text):
    section = text.partition(f"\n### ✓ {campaign.programs[0].verdict}: step")[2]
    assert section
    for caption, cells in expected_rows(campaign):
        lines = lines_below(caption, section)
        assert any(in_order(cells, line) for line in lines), (caption, cells, lines)
    lines = lines_below("under each threshold", text)
    for cells in expected_rows_of_sweeps(campaign):
        assert any(in_order(cells, line) for line in lines), (cells, lines)
    for said in said_of_sweeps(campaign):
        assert said in text
    assert f"A flip has a price for {len(campaign.programs)} of" in text


def check_html(campaign, text):
    """Each cell stands somewhere on the page; tests of the page say where."""
    found = set(Page(text).texts)
    for caption, cells in expected_rows(campaign):
        for cell in cells:
            assert cell in found, (caption, cell)
    assert {cell for cells in expected_rows_of_sweeps(campaign) for cell in cells} <= found
    for said in said_of_sweeps(campaign):
        assert any(said in each for each in found), said


def check_comment(campaign, text):
    [row] = campaign.programs
    assert f"- **{row.name}** ({row.source}): {row.flip.reasons[0].what}" in text
    titles = {
        "safe but slower or larger": "A flip has a price for",
        "different": "A flip breaks or",
    }
    assert f"**{titles[row.flip.outcome]}" in text
    assert text.count(" 1 of 1 program**") == 1


def rendered(format_, campaign):
    if format_ in ("csv", "parquet"):
        return {
            table: formats.render_report(format_, campaign, table=table) for table in tables.TABLES
        }
    return formats.render_report(format_, campaign)


CHECKS = {
    "html": check_html,
    "md": check_md,
    "comment": check_comment,
    "junit": check_junit,
    "sarif": check_sarif,
    "csv": check_csv,
    "parquet": check_parquet,
}


def test_every_metric_is_in_the_result(truth):
    """A metric that is added later has to be given a number here, or it would not be compared."""
    measured = {name for _, _, name in expected_metrics(campaign_of(truth))}
    assert measured == {metric.name for metric in metrics.METRICS}


def test_every_format_is_compared():
    assert {*CHECKS, "json"} == set(formats.FORMATS)


@pytest.mark.parametrize("format_", CHECKS)
def test_every_number_is_the_same(truth, format_):
    campaign = campaign_of(truth)
    CHECKS[format_](campaign, rendered(format_, campaign))


# -- planted faults --------------------------------------------------------------------------------

PAGES = ("html", "md")
TABLES = ("csv", "parquet")
# The formats that show a number, by the beginning of its path; the first that fits counts.
SHOWN = {
    "observations.proof": ("junit", *PAGES, *TABLES),
    "observations.jaxpr.committed_arrays": (),  # read by the judge alone
    "observations.jaxpr.sharded_arrays": (),
    "observations.jaxpr.donated_types": (),
    "observations.jaxpr": ("junit", *PAGES, *TABLES),
    "observations.stablehlo.operations_by_name": PAGES,
    "observations.stablehlo.array_operations": ("junit", *PAGES, *TABLES),
    "observations.stablehlo.callbacks": ("junit", *TABLES),
    "observations.stablehlo.marks_lost": ("junit", *TABLES),
    "observations.stablehlo": ("junit", *PAGES, *TABLES),
    "observations.executable.devices": ("junit", *TABLES),
    "observations.executable": ("junit", *PAGES, *TABLES),
    "observations.memory": ("junit", *PAGES, *TABLES),
    "observations.constant_buffers": ("junit", *PAGES, *TABLES),
    "observations.host_memory": ("junit", *PAGES, *TABLES),
    "observations.recompiles": ("junit", *PAGES, *TABLES),
    "observations.times": ("junit", *PAGES, *TABLES),
    "observations.outputs.shape": PAGES,
    "observations.ledger.uses": (*PAGES, *TABLES),
    "observations.ledger.alike": (*PAGES, *TABLES),
    # Sides whose shapes differ capture other arrays: the page has a line for each.
    "observations.ledger.shape": ("sarif", "md", *TABLES),
    "observations.ledger": ("sarif", *PAGES, *TABLES),
    "comparisons.metrics.leaves.max_": (*PAGES, *TABLES),
    "comparisons.metrics.leaves": PAGES,
    "times.ratio": ("junit", *PAGES),
    "times": PAGES,
    "hazards.line": ("sarif", *PAGES),
    "hazards.operations": (),  # in words in the hazard itself
    "flip.reasons.ratio": TABLES,
}


def formats_that_show(path):
    if path[0] == "sweeps":
        return PAGES
    if path[2:5] == ("observations", 1, "ledger") and path[6] in ("line", "bytes", "uses"):
        return TABLES  # the others show the array of the first side
    name = ".".join(each for each in path[2:] if isinstance(each, str))
    return next(shown for beginning, shown in SHOWN.items() if name.startswith(beginning))


@pytest.mark.deep
def test_a_number_that_is_another_one_is_seen_wherever_it_is_shown(truth):
    """Each number of the JSON is changed once; without the change every check passes."""
    campaign = campaign_of(truth)
    missed = []
    of_result = {name: truth[name] for name in ("programs", "sweeps")}
    for path, value in numbers_of(of_result):
        planted = campaign_of(changed(truth, path, value * 7))
        for format_ in formats_that_show(path):
            try:
                CHECKS[format_](campaign, rendered(format_, planted))
            except AssertionError:
                continue
            missed.append((format_, ".".join(map(str, path))))
    assert missed == []


@pytest.mark.parametrize("format_", sorted(CHECKS.keys() - {"html"}))
def test_another_outcome_is_seen(truth, format_):
    """The page in HTML is not read closely enough for words; it has tests of its own."""
    planted = changed(truth, ("programs", 0, "flip", "outcome"), "different")
    with pytest.raises(AssertionError):
        CHECKS[format_](campaign_of(truth), rendered(format_, campaign_of(planted)))


@pytest.mark.parametrize("format_", ["csv", "junit", "md", "parquet"])
def test_another_verdict_is_seen(truth, format_):
    planted = changed(truth, ("programs", 0, "verdict"), "difference")
    with pytest.raises(AssertionError):
        CHECKS[format_](campaign_of(truth), rendered(format_, campaign_of(planted)))
