"""The table of all programs: ratios, sizes and counts; what was not measured is never zero."""

from __future__ import annotations

import math

import pytest

from reports.rows import worst_first
from reports.views import figures, program, texts
from reports.views import overview as view


def table(campaigns, *programs, sides=None):
    return view.overview(worst_first(programs), sides or campaigns.ALL_SIDES)


def overview(campaigns, *programs, sides=None):
    """The texts of each row: a figure of several sides as a list of them."""
    rows = table(campaigns, *programs, sides=sides).rows
    return [[cell.text.split(" · ") for cell in row] for row in rows]


def with_times(campaigns, side, **times):
    observation = campaigns.observation("f", side)
    return observation.model_copy(update={"times": observation.times.model_copy(update=times)})


def test_compile_times_are_ratios_to_jax_legacy(campaigns):
    row = campaigns.parity("f").model_copy(update={"observations": (
        with_times(campaigns, "legacy", compile=3.0),
        with_times(campaigns, "simplified", compile=0.5),
        with_times(campaigns, "jax-legacy", compile=2.0),
        with_times(campaigns, "jax-simplified", compile=300.0),
    )})  # fmt: skip
    assert overview(campaigns, row)[0][-2] == ["1.50x", "0.25x", "1.00x", "150x"]


def test_the_time_of_a_call_stands_beside_it_as_a_ratio(campaigns):
    row = campaigns.parity("f").model_copy(update={"observations": (
        with_times(campaigns, "jax-legacy", call=2e-6),
        with_times(campaigns, "jax-simplified", call=3e-3),
    )})  # fmt: skip
    cells = overview(campaigns, row, sides=("jax-legacy", "jax-simplified"))[0]
    assert cells[-1] == ["1.00x", "1,500x"]


def test_compile_times_are_ratios_to_legacy_where_jax_legacy_was_not_run(campaigns):
    sides = ("simplified", "legacy")
    row = campaigns.parity("f").model_copy(update={"observations": (
        with_times(campaigns, "legacy", compile=3.0),
        with_times(campaigns, "simplified", compile=1.5),
    )})  # fmt: skip
    assert overview(campaigns, row, sides=sides)[0][-2] == ["0.50x", "1.00x"]
    titles = [each.title for each in table(campaigns, row, sides=sides).columns]
    assert "compile time, ratio to legacy" in titles


@pytest.mark.parametrize("base", [None, 0.0])
def test_without_a_reference_time_the_seconds_are_shown(base, campaigns):
    reference = campaigns.observation("f", "jax-legacy")
    changes = {"times": None if base is None else reference.times.model_copy(
        update={"compile": base})}  # fmt: skip
    row = campaigns.parity("f").model_copy(update={"observations": (
        with_times(campaigns, "legacy", compile=3.0), reference.model_copy(update=changes),
    )})  # fmt: skip
    shown = "-" if base is None else "0 s"
    assert overview(campaigns, row)[0][-2] == ["3.00 s", "-", shown, "-"]


def test_without_any_legacy_side_the_seconds_are_shown(campaigns):
    row = campaigns.parity("f", ("simplified",))
    found = table(campaigns, row, sides=("simplified",))
    assert [each.title for each in found.columns[-2:]] == ["compile time", "call time"]
    assert [cell.text for cell in found.rows[0][-2:]] == ["45.0 ms", "8.20 µs"]


def test_const_args_stand_beside_the_arrays_that_are_captured(campaigns):
    cells = overview(campaigns, campaigns.parity())[0]
    assert ["0 (1)", "1 (1)", "0 (1)", "3 (1)"] in cells


def test_the_worst_comes_first_and_otherwise_the_order_stays(campaigns):
    names = [
        row[0][0]
        for row in overview(campaigns, campaigns.parity("b"), campaigns.parity("a"),
                            campaigns.not_compared("d"), campaigns.difference("c"))
    ]  # fmt: skip
    assert names == ["d", "c", "b", "a"]  # a flip was judged of "d" alone


@pytest.mark.parametrize(
    ("programs", "counts"),
    [
        ((), "no program was run"),
        (("parity",), "1 program: 1 parity"),
        (("not_compared", "parity", "parity"), "3 programs: 2 parity, 1 could not compare"),
    ],
)
def test_counts(programs, counts, campaigns):
    rows = [getattr(campaigns, name)() for name in programs]
    assert view.counts(rows) == counts


def test_what_was_not_measured_is_never_zero(campaigns):
    bare = campaigns.observation("f", "legacy", proof=None, jaxpr=None, stablehlo=None,
                                 memory=None, times=None, outputs=(), tree=None)  # fmt: skip
    row = campaigns.parity("f").model_copy(update={"observations": (bare,)})
    cells = table(campaigns, row, sides=("legacy",)).rows[0]
    assert [cell.text for cell in cells][2:] == ["-"] * 6
    figures_of = program.figures_by_side(("legacy",), [bare])
    assert {row[1].text for row in figures_of.rows} == {"-"}


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1024**2 - 1, "1.0 MiB"),
        (1023 * 1024, "1,023 KiB"),
        (99 * 1024 + 1023, "100 KiB"),
        (128 * 1024**2, "128 MiB"),
        (4 * 1024**3, "4.0 GiB"),
        (5000 * 1024**4, "5,000 TiB"),
        (-2048, "-2.0 KiB"),
    ],
)
def test_bytes(count, text):
    assert figures.humanise_bytes(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (290.0, "290 s"),
        (9.996, "10.0 s"),
        (0.99996, "1.00 s"),
        (0.9994, "999 ms"),
        (8.2e-6, "8.20 µs"),
        (3e-9, "3.00 ns"),
        (math.inf, "inf s"),
        (math.nan, "nan s"),
        (12345.6, "12,346 s"),
    ],
)
def test_seconds(seconds, text):
    assert figures.humanise_seconds(seconds) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(1.0, "1.00x"), (0.0995, "0.10x"), (0.031, "0.031x"), (9.996, "10.0x"), (99.96, "100x"),
     (1611.1, "1,611x"), (0.0, "0.00x"), (math.inf, "infx"), (math.nan, "nanx")],
)  # fmt: skip
def test_ratio(ratio, text):
    assert figures.humanise_ratio(ratio) == text


def test_terminal_colours_are_dropped_and_reversed_text_is_spelled_out():
    assert texts.visible("\x1b[1;31mError\x1b[0m \u202egnp\ttab\nline") == (
        "Error \\u202egnp\ttab\nline"
    )


def test_what_is_no_character_of_unicode_is_spelled_out():
    assert texts.visible("\ufdd0 \ufffe \uffff \ufffd") == r"\ufdd0 \ufffe \uffff" + " \ufffd"
