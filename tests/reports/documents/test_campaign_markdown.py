"""The Markdown of a campaign: what breaks and what costs by cause, then every program."""

from __future__ import annotations

import re

import pytest

from reports import render_report

MIB = 1024 * 1024


def table_after(text: str, heading: str) -> list[str]:
    """The lines of the first table after `heading`."""
    lines = text[text.index(heading) :].splitlines()
    first = next(index for index, line in enumerate(lines) if line.startswith("|"))
    rest = lines[first:]
    return rest[: next((i for i, line in enumerate(rest) if not line.startswith("|")), len(rest))]


def cells(line: str) -> list[str]:
    """The cells of a table row as GitHub splits it: at pipes that no backslash precedes."""
    return re.split(r"(?<!\\)\|", line)[1:-1]


def test_the_first_screen(campaigns):
    sides = ("legacy", "simplified")
    campaign = campaigns.campaign(
        campaigns.parity("rank_4", sides), campaigns.difference(), sides=sides
    )
    # The difference was observed on two more sides than the campaign names: all are shown.
    first_screen, _, rest = render_report("md", campaign).partition("<details>")
    assert first_screen == (
        "# constparity: ≠ difference\n"
        "\n"
        "- flip: not asked, for no two sides across the flip were compared.\n"
        "- pipelines: constparity's own were not compared with stock JAX.\n"
        "- All sides agree in 1 of 2 programs.\n"
        "- Measured with constparity 0.1.0 on jax 0.10.2, jaxlib 0.10.2, Python 3.11.7; 1 x cpu "
        "(cpu), Linux x86_64; 2026-08-20T12:00:00Z.\n"
        "\n"
        "## The sides differ in 1 of 2 programs\n"
        "\n"
    )
    cause, _, rest = rest.partition("</details>\n\n")
    assert cause == (
        "<summary><b>1 program:</b> output ['y'] differs on …% of its elements</summary>\n"
        "\n"
        "- **overwritten_numpy** (models/overwritten.py:40): output \\['y'] differs on 3.12% of "
        "its elements\n"
        "\n"
    )
    assert rest.partition("<details>")[0] == ("- 2 programs: 1 parity, 1 difference\n\n")
    assert rest.partition("</summary>\n\n")[2].partition("</details>")[0] == (
        "| program | verdict | flip | StableHLO size | inlined constants |"
        " const args (unique captured) | compile time, ratio to jax-legacy |"
        " call time, ratio to jax-legacy |\n"
        "| :--- | :--- | :--- | ---: | ---: | ---: | ---: | ---: |\n"
        "| overwritten_numpy | **≠ difference** | - | 8.0 MiB · 817 B · 8.0 MiB · timeout |"
        " 4.0 MiB · 0 B · 4.0 MiB · - | 0 (1) · 1 (1) · 0 (1) · - | 1.43 s · 45.0 ms · - · - |"
        " 8.20 µs · 8.20 µs · - · - |\n"
        "| rank_4 | ✓ parity | - | 8.0 MiB · 817 B · - · - | 4.0 MiB · 0 B · - · - |"
        " 0 (1) · 1 (1) · - · - | 1.43 s · 45.0 ms · - · - |"
        " 8.20 µs · 8.20 µs · - · - |\n"
        "\n"
        "- Where a cell lists several figures, they stand for legacy, simplified, jax-legacy,"
        " jax-simplified, in that order.\n"
        "- The times in this table are not judged: those of tracing, lowering, compiling and the"
        " first call are one sample of one process, those of later calls medians of a few. A ratio"
        " below 1 is faster than the side it is divided by; seconds stand where that side has no"
        " time. Judged times, where rounds were run, are with each program.\n"
        "- A dash stands for what was not measured, never for zero.\n"
        "\n"
    )


def test_the_overview_of_two_sides(campaigns):
    sides = ("legacy", "simplified")
    text = render_report("md", campaigns.campaign(campaigns.parity("f", sides), sides=sides))
    assert table_after(text, "# constparity: ✓ parity") == [
        "| program | verdict | flip | StableHLO size | inlined constants |"
        " const args (unique captured) | compile time, ratio to legacy |"
        " call time, ratio to legacy |",
        "| :--- | :--- | :--- | ---: | ---: | ---: | ---: | ---: |",
        "| f | ✓ parity | - | 8.0 MiB · 817 B | 4.0 MiB · 0 B | 0 (1) · 1 (1) | 1.00x · 0.031x |"
        " 1.00x · 1.00x |",
    ]


def test_the_comparisons_of_a_program(campaigns):
    text = render_report("md", campaigns.campaign(campaigns.difference()))
    assert table_after(text, "**Comparisons**") == [
        "| metric | left side | left value | right side | right value | outcome | detail |",
        "| :--- | :--- | :--- | :--- | :--- | :--- | :--- |",
        "| outputs | legacy | 8,389,512 | simplified | 817 | **different** |  |",
        "| compile time | legacy | 1.43 s | simplified | 45.0 ms | not judged |  |",
        "| trace count | legacy | 1 | simplified | 1 | equal |  |",
    ]


def test_the_numeric_ladder_of_a_program(campaigns):
    text = render_report("md", campaigns.campaign(campaigns.difference()))
    assert table_after(text, "**Numeric ladder")[2:] == [
        r"| \['y'] | legacy / simplified | **mismatch** | 3.5 | inf | 1,099,511,627,776 | 3.12% |"
        r" \[0, 17] | inf | the left value is 0 |",
        r"| \['loss'] | legacy / simplified | **mismatch** | nan | nan | - | 100% | \[] | none |"
        "  |",
        r"| \['z'] | legacy / simplified | bitwise | 0 | 0 | 0 | 0% | none | none |  |",
    ]


def test_the_proof_of_each_side(campaigns):
    text = render_report("md", campaigns.campaign(campaigns.not_compared("f")))
    rows = [cells(line)[:2] for line in table_after(text, "Proof of the side in force")[2:]]
    assert [side.strip() for side, _ in rows] == [
        "legacy", "simplified", "jax-legacy", "jax-simplified"
    ]  # fmt: skip
    assert rows[1][1] == " **failed: crash at compile** "
    assert rows[2][1].startswith(" **contradicts the side: ")


@pytest.mark.parametrize("kind", ["exception", "crash", "timeout", "wrong side", "unavailable"])
def test_every_kind_of_failure_is_told(kind, campaigns):
    row = campaigns.parity("f", ("legacy",))
    failed = campaigns.failed("f", "simplified", kind, message="because of this")
    row = row.model_copy(update={"observations": (*row.observations, failed)})
    text = render_report("md", campaigns.campaign(row))
    assert (
        f"- **simplified: {kind} at compile: XlaRuntimeError**\n\n```text\nbecause of this" in text
    )


def test_hostile_text_stays_in_its_cell(campaigns):
    text = render_report("md", campaigns.rich())
    columns = None
    for line in text.splitlines():
        if not line.startswith("|"):
            columns = None
            continue
        columns = columns or len(cells(line))
        assert len(cells(line)) == columns
    outside_code = re.sub(r"(?ms)^(`{3,})text\n.*?^\1$", "", text)
    assert "<script" not in outside_code
    assert "\x1b" not in text
    assert "\x00" not in text
    assert not re.search(r"(?<!\\)`", outside_code)


def test_a_traceback_cannot_close_its_fence(campaigns):
    traceback = "before\n```\n````\n</details>\nafter"
    failed = campaigns.failed("f", "legacy", "exception", traceback=traceback)
    row = campaigns.parity("f").model_copy(update={"observations": (failed,)})
    text = render_report("md", campaigns.campaign(row))
    assert f"\n`````text\n{traceback}\n`````\n" in text


def test_a_campaign_over_nothing(campaigns):
    text = render_report("md", campaigns.campaign())
    assert text.startswith("# constparity: ? could not compare\n\n- flip: not asked")
    assert "no program was run" in text


def test_a_large_campaign_is_cut_below_one_mebibyte_and_says_so(campaigns):
    programs = [campaigns.parity(f"f{index}") for index in range(300)]
    text = render_report("md", campaigns.campaign(*programs, campaigns.difference("worst")))
    assert len(text.encode()) < MIB
    shown = text.count("\n### ")
    assert 100 < shown < 301
    notice = f"**Cut here:** {301 - shown} more programs are left out here"
    assert notice in text
    # The overview still has them all, and what differs was kept.
    assert "| f299 |" in text
    assert "### ≠ difference: worst" in text


def test_a_small_campaign_is_not_cut(campaigns):
    assert "Cut here" not in render_report("md", campaigns.rich())


def test_even_the_worst_page_stays_below_one_mebibyte(campaigns):
    worst = "&😀<\x00" * 500
    row = campaigns.not_compared(worst)
    failures = tuple(
        item.model_copy(update={"failure": item.failure.model_copy(
            update={"message": worst, "traceback": worst * 100, "type": worst, "stage": worst})})
        for item in row.observations
    )  # fmt: skip
    leaf = campaigns.leaf(path=worst, note=worst)
    comparison = campaigns.comparison(worst, "different", detail=worst, leaves=(leaf,),
                                      left_value=worst, right_value=worst)  # fmt: skip
    row = row.model_copy(update={
        "source": worst, "summary": worst, "reasons": (worst,) * 300, "observations": failures,
        "comparisons": (comparison,) * 100,
    })  # fmt: skip
    text = render_report("md", campaigns.campaign(*[row] * 600))
    assert len(text.encode()) < MIB
    assert "\n### " in text
    assert re.search(r"\d more programs are left out here", text)
    assert re.search(r"\d more reasons are left out here", text)
    assert "40 more metrics are left out here" in text
