"""The reports of a grid: JSON that reads back, and pages that show every cell and hostile text."""

import json
import re

import built_grids as built
import pytest
from built_campaigns import timed
from html_pages import Page

from reports import ReportReadError, render_grid, rows
from reports.documents.grid import document
from reports.output import html, json_file, markdown


@pytest.fixture(scope="module")
def grid():
    return built.rich()


@pytest.fixture(scope="module")
def page(grid):
    return Page(render_grid("html", grid))


@pytest.fixture
def written(tmp_path, grid):
    path = tmp_path / "grid.json"
    path.write_text(json_file.render(grid), encoding="utf-8")
    return path


def test_a_grid_reads_back_as_it_was(written, grid):
    loaded = json_file.load_result(written)
    assert loaded == grid
    assert json_file.render(loaded) == written.read_text("utf-8")


def test_the_json_begins_with_the_answer_and_has_the_rows(written):
    data = json.loads(written.read_text("utf-8"))
    assert next(iter(data)) == "headline"
    assert data["headline"]["flip"] == "no"
    scan = next(each for each in data["programs"] if each["name"] == "scan")
    assert scan["changes"][0]["after"]["version"] == "0.10.2"
    assert data["versions"][0]["campaign"]["environment"]["jax"] == "0.8.3"


def test_what_is_worked_out_is_not_believed(written, grid):
    data = json.loads(written.read_text("utf-8"))
    data["headline"]["flip"], data["programs"] = "yes", []
    written.write_text(json.dumps(data))
    assert json_file.load_result(written) == grid


def test_a_report_of_a_grid_is_refused_where_a_campaign_is_read(written):
    said = "it is the report of a grid over versions of JAX"
    with pytest.raises(ReportReadError, match=said):
        json_file.load(written)


def test_the_page_is_balanced_and_every_link_leads_somewhere(page):
    links = {each[1:] for each in page.values("href")}
    assert links
    assert links <= set(page.values("id"))


def test_hostile_text_is_shown_and_never_interpreted(page, grid):
    assert "script" not in page.tags
    assert "<script>alert(1)</script>" in page.text
    assert not re.search("[\x00\x1b]", render_grid("html", grid))
    assert "<script>" not in render_grid("md", grid)


def test_the_page_has_the_cells_the_failures_and_the_counters(page):
    text = " ".join(" ".join(page.texts).split())
    assert "flip: no on some versions" in text
    assert "scan flip breaks not run safe costs drift" in text
    assert "flag on fails - fixed differs differs" in text
    assert (
        f"0.8.3 flag on alone AttributeError: {built.BROKEN} jax/_src/pjit.py:1413 1 scan" in text
    )
    assert f"0.11.2 flag on AttributeError: {built.BROKEN} jax/_src/pjit.py:1413 1 old_api" in text
    assert "flag on 0.10.2 0.11.2 StableHLO operations 12 14" in text


def test_programs_that_nothing_changes_have_no_section(page):
    assert "The program scan." in page.text
    assert "The program steady." not in page.text


def test_programs_of_which_the_same_is_told_are_told_together():
    versions = [
        built.version(label, *(built.program(name, outcome) for name in ("one", "two")))
        for label, outcome in (("0.10.2", "different"), ("0.11.2", "safe"))
    ]
    alike = [
        built.change(name, "0.10.2", "0.11.2", "equal", detail=name) for name in ("one", "two")
    ]
    text = render_grid("html", built.of(*versions, changes=alike))
    assert text.count("2 programs: one, two") == 2  # in the table, and over their section
    apart = [*alike[:1], built.change("two", "0.10.2", "0.11.2", "different")]
    assert "2 programs: one, two" not in render_grid("html", built.of(*versions, changes=apart))


def test_a_page_that_is_cut_says_so(grid):
    short = html.render(document(grid), limit_bytes=2**14)
    assert "programs are left out here" in short
    page = Page(short)
    assert {each[1:] for each in page.values("href")} <= set(page.values("id"))
    assert "**Cut here:**" in markdown.render(document(grid), limit_bytes=2**12)


def lines(grid):
    return render_grid("md", grid).splitlines()


def test_markdown_has_a_line_for_each_program_and_flag(grid):
    assert (
        "| scan | flip | **breaks** | not run | safe | costs | drift | 0.10.2 or before it (0.9.2 "
        "has no verdict): different → safe |"
    ) in lines(grid)
    assert "|  | flag on | fails | - | fixed | **differs** | **differs** |  |" in lines(grid)


def test_every_word_that_is_shown_is_explained(grid):
    legends = [line for line in lines(grid) if line.startswith(("flip: ", "flag: "))]
    for word in ("breaks", "differs", "no load", "absent", "not run", "fixed", "first", "varies"):
        assert any(f"{word} = " in line for line in legends), word


def test_environments_that_differ_in_more_than_jax_are_told(grid):
    assert not any("Beside JAX" in line for line in lines(grid))
    first = grid.versions[0]
    environment = first.campaign.environment.model_copy(update={"python": "3.12.1"})
    campaign = first.campaign.model_copy(update={"environment": environment})
    other = first.model_copy(update={"campaign": campaign})
    found = lines(built.of(other, *grid.versions[1:]))
    assert "- Beside JAX and jaxlib, versions differ in python (3.12.1, 3.11.7)." in found


def test_times_and_how_they_grow_are_told():
    slower = timed("slower", right="jax-legacy", ratio=512.0, low=487.0, high=530.0)
    growth = rows.Growth(
        program="loop", side="jax-legacy", metric="call", sizes=(2000, 8000), exponent=2.01,
        low=1.97, high=2.04, samples=10,
    )  # fmt: skip
    row = built.program("loop.n8000").model_copy(update={"tags": ("n=8000",)})
    change = built.change(
        row.name, "0.11.0", "0.11.1", "equal", side="jax-legacy", times=(slower,),
        cause_of_times="the optimised module is the same, the time is not: jaxlib",
    )  # fmt: skip
    versions = built.version("0.11.0", row), built.version("0.11.1", row, growth=(growth,))
    page = render_grid("md", built.of(*versions, changes=(change,)))
    assert "| slower |" in page
    assert "call takes 512x (487x to 530x): the optimised module is the same" in page
    assert "call grows from n=2,000 to n=8,000 with n squared (n^2.01, 1.97 to 2.04)" in page
