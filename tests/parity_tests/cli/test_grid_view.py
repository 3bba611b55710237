"""A grid on a terminal: what is printed, in which order, and that it fits 80 columns."""

import io

import built_grids as built
import pytest
from doc_blocks import excerpt, says

from parity_tests.cli import grid_view
from parity_tests.cli.terminal import PlainConsole


def printed(grid, width=80, details=1):
    console = PlainConsole(file=io.StringIO(), width=width)
    grid_view.print_grid(console, grid, details=details)
    return console.file.getvalue()


@pytest.fixture(scope="module")
def grid():
    return built.rich()


def table(text):
    """The lines of the table, its head first."""
    lines = text.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("program "))
    end = next(n for n, line in enumerate(lines[start:]) if line.startswith("flip: ")) + start
    return [line.rstrip() for line in lines[start:end]]


def test_the_answers_come_first(grid):
    lines = printed(grid).splitlines()
    assert lines[0].startswith("flip: no on 0.8.3; not known on 0.9.2; yes on 0.10.2;")
    assert lines[3:6] == [
        "  0.8.3: no: 2 no; 1 not known; 2 yes",
        "  0.9.2: not known: nothing was run: interrupted",
        "  0.10.2: yes: 3 yes",
    ]


def test_the_table_of_the_guide():
    name, labels = "float64_array_in_32_bit_mode", ("0.8.3", "0.10.2", "0.12.0.1")
    breaks = built.program(name, "different", fails=["jax-simplified"], kind="failure")
    works = built.program(name)
    changes = [
        built.change(name, *labels[:2], "equal", side="jax-legacy"),
        built.change(name, *labels[:2], "fixed failure"),
        *(built.change(name, *labels[1:], "equal", side=side) for side in built.STOCK),
    ]
    grid = built.of(*map(built.version, labels, (breaks, works, works)), changes=changes)
    text = "\n".join(table(printed(grid)))
    assert says(excerpt("versions.md", "program "), text), text


def test_quietly_there_are_the_answers_alone(grid):
    assert len(printed(grid, details=0).splitlines()) == 8


def test_the_table_fits_80_columns_with_the_worst_program_first(grid):
    found = table(printed(grid))
    assert max(map(len, found)) <= 80
    assert found[0].split() == ["program", *built.LABELS]
    assert found[2].split() == ["scan", "flip", "breaks", "not", "run", "safe", "costs", "drift"]
    assert found[3].split() == ["flag", "off", "first", "-", "first", "first", "first"]
    assert found[4].split() == ["flag", "on", "fails", "-", "fixed", "differs", "differs"]


@pytest.mark.parametrize("width", [40, 80])
def test_a_long_name_has_a_line_of_its_own_and_none_is_split(grid, width):
    found = table(printed(grid, width))
    assert r"<script>alert(1)</script> | pipe ` tick *b* [l](x) [red] \x00" in found
    assert any(line.startswith("old_api  ") for line in found)
    assert all(len(line) <= width for line in found if "<script>" not in line)


def test_programs_that_nothing_changes_are_named_alone(grid):
    text = printed(grid)
    ran = "0.8.3, 0.10.2, 0.11.2 and 0.12.0.1"  # nothing was run on 0.9.2
    assert f"safe on {ran}, which change nothing: 1 program: steady" in text
    assert not any(line.startswith("steady") for line in table(text))
    assert any(line.startswith("steady") for line in table(printed(grid, details=2)))


def test_programs_whose_outputs_a_version_changes_within_the_tolerance_are_named_apart():
    names, labels = ("same", "close"), ("0.10.2", "0.12.0.1")
    versions = [built.version(label, *map(built.program, names)) for label in labels]
    changes = (
        built.change("same", *labels, "equal"),
        built.change("close", *labels, "within tolerance"),
    )
    text = printed(built.of(*versions, changes=changes))
    assert "safe on all versions, which change nothing: 1 program: same\n" in text
    assert "safe on all versions, which change outputs within the tolerance: 1 program: close" in (
        text
    )


def test_a_program_that_one_version_alone_ran_is_not_said_to_be_safe_on_all():
    ran = built.version("0.10.2", built.program("step"))
    text = printed(built.of(ran, built.GridVersion(label="0.12.0.1", missing="it raises")))
    assert "safe on 0.10.2, the only version that ran: 1 program: step" in text
    assert "all versions" not in text


def test_more_versions_than_fit_stand_in_blocks(grid):
    text = printed(grid, width=60)
    heads = [line.split() for line in text.splitlines() if line.startswith("program ")]
    assert heads == [["program", *built.LABELS[:3]], ["program", *built.LABELS[3:]]]


def test_long_versions_have_room():
    labels = ["0.10.2", "0.11.2", "0.12.0.1", "0.13.0.dev20261101", "0.13.0.dev20261102"]
    versions = [built.version(label, built.program("steady")) for label in labels]
    lines = printed(built.of(*versions), details=2).splitlines()
    assert [label for label in labels if any(label in line.split() for line in lines)] == labels
    assert all(len(line) <= 80 for line in lines if line.startswith(("program", "─", "steady")))


def test_a_side_that_a_version_does_not_run_has_a_dash():
    ours = built.rows.Observation(program="steady", side="legacy")
    row = built.program("steady")
    row = row.model_copy(update={"observations": (*row.observations, ours)})
    versions = [
        built.version("0.10.2", row, sides=(*built.STOCK, "legacy")),
        built.version("0.12.0.1", built.program("steady")),
    ]
    found = table(printed(built.of(*versions), details=2))
    assert [line.split() for line in found[-1:]] == [["legacy", "first", "-"]]


def test_two_environments_with_one_version_have_two_lines_of_heading():
    versions = [
        built.version("0.10.2", built.program("steady")).model_copy(update={"label": label})
        for label in ("0.10.2 py3.11", "0.10.2 py3.12")
    ]
    text = printed(built.of(*versions), details=2)
    lines = text.splitlines()
    last = next(number for number, line in enumerate(lines) if line.startswith("program "))
    assert lines[last - 1].split() == ["0.10.2", "0.10.2"]
    assert lines[last].split() == ["program", "py3.11", "py3.12"]


def test_what_changes_when_is_told_with_both_verdicts(grid):
    text = printed(grid)
    assert "flip: 0.10.2 or before it (0.9.2 has no verdict): different → safe" in text
    assert f"  0.8.3: fails on jax-simplified: AttributeError: {built.BROKEN}" in text
    assert "flag on: 0.8.3 to 0.10.2: fixed failure: it is fixed failure" in text
    assert "within tolerance" not in text
    assert "0.8.3: not loaded: its module needs flax" in text


def test_each_failure_is_told_once(grid):
    said = f"  0.8.3, flag on alone: AttributeError: {built.BROKEN} (jax/_src/pjit.py:1413)"
    assert f"{said}\n    1: scan\n" in printed(grid)


def test_programs_with_the_same_changes_are_told_together():
    versions = [
        built.version(label, *(built.program(name, outcome) for name in ("one", "two")))
        for label, outcome in (("0.10.2", "different"), ("0.11.2", "safe"))
    ]
    text = printed(built.of(*versions))
    assert "2 programs: one, two" in text
    assert text.count("flip: 0.11.2: different → safe") == 1


def test_counters_are_counted_and_shown_on_request(grid):
    assert "counters, which nobody judges, change for 1 program: -v shows them" in printed(grid)
    assert "counters: StableHLO operations 12 → 14" in printed(grid, details=2)
