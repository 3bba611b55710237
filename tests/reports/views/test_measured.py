"""What each side was measured with: one line where all agree, else each names its own."""

import io

import built_grids as built
import pytest
from html_pages import whole

from parity_tests.cli import grid_view, run_view
from parity_tests.cli.terminal import PlainConsole
from reports import render_report
from reports.document import Table
from reports.documents.grid import document
from reports.rows import SIDES, Campaign, MeasuredWith
from reports.views import measured, program

OLD = MeasuredWith(python="3.11.7", jax="0.10.2", jaxlib="0.10.1", backend="cpu")
NEW = MeasuredWith(python="3.12.1", jax="0.12.0.1", jaxlib="0.12.0", backend="gpu")
OF_OLD = "jax 0.10.2, jaxlib 0.10.1, Python 3.11.7, backend cpu"
OF_NEW = "jax 0.12.0.1, jaxlib 0.12.0, Python 3.12.1, backend gpu"


def with_told(row, told):
    """A program whose sides, in order, have told what they were measured with."""
    observations = tuple(
        each.model_copy(update={"measured_with": one})
        for each, one in zip(row.observations, told, strict=True)
    )
    return row.model_copy(update={"observations": observations})


@pytest.fixture
def campaign(campaigns):
    """A campaign of one program for each list of what its sides have told."""

    def of(*told):
        rows = [with_told(campaigns.parity(f"f{n}"), each) for n, each in enumerate(told)]
        return campaigns.campaign(*rows)

    return of


def printed(campaign, details=1):
    console = PlainConsole(file=io.StringIO(), width=140)
    run_view.print_campaign(console, campaign, details=details)
    return console.file.getvalue().splitlines()


def proof_table(campaign):
    apart = measured.are_apart(campaign.programs)
    table = program.proofs(campaign.programs[0].observations, apart=apart)
    return [table.columns[1].title, *((row[0].text, row[1].text) for row in table.rows)]


def test_where_all_have_the_same_one_line_says_it_everywhere(campaign):
    same = campaign([OLD] * 4, [OLD] * 4)
    line = f"measured with {OF_OLD}"
    assert measured.lines_of(same) == (line,)
    assert printed(same)[2] == line
    assert render_report("html", same).count(OF_OLD) == 1
    assert f"\n- {line}.\n" in render_report("md", same)
    assert proof_table(same)[0] == "proof"


def test_where_sides_differ_each_names_its_own(campaign):
    apart = campaign([OLD, NEW, OLD, NEW])
    lines = (
        f"legacy, jax-legacy: measured with {OF_OLD}",
        f"simplified, jax-simplified: measured with {OF_NEW}",
    )
    assert measured.lines_of(apart) == lines
    assert tuple(printed(apart)[2:4]) == lines
    assert "on jax 0.10.2 and 0.12.0.1, cpu" in printed(apart)[5]
    each = zip(SIDES, [OF_OLD, OF_NEW, OF_OLD, OF_NEW], strict=True)
    assert proof_table(apart) == ["measured with", *each]
    assert f"| jax-simplified | {OF_NEW} |" in render_report("md", apart)
    assert whole(render_report("html", apart)).count(f"<td>{OF_NEW}</td>") == 2


@pytest.mark.parametrize("field", ["python", "jax", "jaxlib", "backend"])
def test_each_of_the_four_sets_sides_apart(campaign, field):
    other = OLD.model_copy(update={field: "another"})
    found = campaign([OLD, OLD, OLD, other])
    assert measured.are_apart(found.programs)
    assert len(measured.lines_of(found)) == 2


def test_programs_of_one_side_that_differ_are_counted(campaign):
    assert measured.lines_of(campaign([OLD] * 4, [OLD, OLD, OLD, NEW])) == (
        f"legacy, simplified, jax-legacy, jax-simplified (1 of 2 programs): measured with {OF_OLD}",
        f"jax-simplified (1 of 2 programs): measured with {OF_NEW}",
    )


def test_a_process_that_was_lost_is_told_and_not_guessed(campaign):
    lost = campaign([OLD] * 4, [OLD, OLD, OLD, None])
    assert measured.lines_of(lost) == (
        f"measured with {OF_OLD}; not told by lost processes of jax-simplified (1 of 2 programs)",
    )
    apart = campaign([OLD, NEW, None, OLD])
    assert measured.lines_of(apart)[2:] == (
        "jax-legacy: lost processes did not tell what they measured with",
    )
    assert proof_table(apart)[3] == ("jax-legacy", "-")


def test_a_report_that_is_older_than_the_field_says_nothing(campaign):
    older = campaign([None] * 4)
    assert measured.lines_of(older) == ()
    assert "on jax 0.10.2, cpu" in printed(older)[3]
    assert "measured with" not in whole(render_report("html", older)) + render_report("md", older)


def test_two_files_are_named_where_a_side_is_compared_with_itself(campaign):
    files = (f"A.json: measured with {OF_OLD}", f"B.json: measured with {OF_NEW}")
    both = campaign([OLD] * 4).model_copy(update={"files_measured": files})
    assert measured.lines_of(both) == files
    assert Campaign.model_validate_json(both.model_dump_json()) == both


def test_quietly_there_is_the_headline_alone(campaign):
    assert len(printed(campaign([OLD] * 4), details=0)) == 2


def grid(*told):
    """A grid of two versions; the sides of the second have told this."""
    rows = [built.program("steady"), with_told(built.program("steady"), told)]
    return built.of(*(built.version(label, row) for label, row in zip("AB", rows, strict=True)))


def facts(grid):
    versions = next(each for each in document(grid).parts if isinstance(each, Table))
    return [(row[0].text, *(cell.text for cell in row[4:8])) for row in versions.rows]


def test_a_version_of_a_grid_says_what_its_processes_told():
    same = grid(NEW, NEW)
    assert facts(same) == [
        ("A", "A", "A", "3.11.7", "cpu"),  # an older report: of the whole campaign
        ("B", "0.12.0.1", "0.12.0", "3.12.1", "gpu"),
    ]
    console = PlainConsole(file=io.StringIO(), width=140)
    grid_view.print_grid(console, same)
    assert f"  B: measured with {OF_NEW}" in console.file.getvalue().splitlines()


def test_sides_of_a_version_that_differ_have_a_line_each():
    assert facts(grid(OLD, NEW))[1:] == [
        ("B", "-", "-", "-", "-"),
        ("B: jax-legacy", "0.10.2", "0.10.1", "3.11.7", "cpu"),
        ("B: jax-simplified", "0.12.0.1", "0.12.0", "3.12.1", "gpu"),
    ]
