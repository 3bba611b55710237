"""What is cut is counted, the first that fits is taken, and nobody loses a program silently."""

import built_documents as built
import pytest

from reports.document import Code, Items, Line, Paragraph, Section, Sections
from reports.output import comment, html, markdown
from reports.output.caps import Caps, capped, fitted
from tests.helpers.built_grids import HOSTILE

FEW = Caps(sections=2, rows=3, items=2, text=10)


def cut(*parts, room=10_000):
    return capped(built.of(*parts), FEW, room).parts


def test_rows_lines_and_characters_are_cut_and_counted():
    [table] = cut(built.table("a long text", rows=5))
    assert len(table.rows) == 3
    assert table.notice == "2 more rows are left out here; the JSON report has them."
    assert table.rows[0][0].text == "a long tex … (1 more characters)"
    [items] = cut(Items((Line("one"),) * 5, "words"))
    assert (len(items.lines), items.notice) == (
        2, "3 more words are left out here; the JSON report has them."
    )  # fmt: skip
    paragraph, code = cut(Paragraph("x" * 41), Code("a" * 20 + "b" * 100 + "c" * 40))
    assert paragraph.text == f"{'x' * 40} … (1 more characters)"
    assert code.text.startswith("a" * 20 + "\n… (100 characters left out here")
    assert code.text.endswith("\n" + "c" * 40)


def test_what_fits_is_as_it_was():
    parts = built.table(rows=3), Items((Line("one", "two"),)), Paragraph("text"), Code("text")
    assert cut(*parts) == parts


def test_sections_that_are_left_out_are_counted_with_their_programs_and_anchors():
    found = tuple(Section("t", (), anchor=f"a{number}", members=number) for number in range(5))
    [sections] = cut(Sections(found, "causes"))
    assert [each.anchor for each in sections.sections] == ["a0", "a1"]
    assert sections.lost == ("a2", "a3", "a4")
    assert sections.notice == (
        "3 more causes, of 9 programs, are left out here; the JSON report has them."
    )


def test_kinds_of_sections_share_the_room_and_the_last_has_what_the_others_leave():
    long = (Section("t" * 10, (Paragraph("x" * 40),) * 2),) * 2  # of 90 characters each
    first, last = cut(Sections(long[:1], "a"), Sections(long, "b"), room=400)
    assert (len(first.sections), len(last.sections)) == (1, 2)
    first, last = cut(Sections(long, "a"), Sections(long, "b"), room=250)
    assert (len(first.sections), len(last.sections)) == (1, 1)
    assert first.notice.startswith("1 more a are left out")


def test_only_the_sections_that_are_shown_are_made():
    made = []
    sections = tuple(
        Section("t", built.Later(lambda number=number: made.append(number) or ()))
        for number in range(1000)
    )
    cut(Sections(sections, "programs"))
    assert made == [0, 1]


def test_other_caps_are_taken_where_no_section_would_be_shown():
    found = Sections((Section("t", (Paragraph("x" * 4000),)),), "programs")
    caps = Caps(9, 9, 9, 1000), Caps(9, 9, 9, 100), Caps(0, 0, 0, 1)
    text = fitted(built.of(found), caps, lambda each: each.parts[0].sections[0].parts[0].text, 900)
    assert text == f"{'x' * 400} … (3,600 more characters)"


@pytest.mark.parametrize("text", ["x" * 10**5, "&@a" * 10**4, "\x00" * 10**4, HOSTILE * 200])
def test_every_renderer_keeps_its_limit_whatever_the_texts_are(text):
    document = built.every_part(text)
    assert len(comment.render(document).encode()) < 65_536
    assert len(markdown.render(document, 200_000).encode()) < 200_000
    assert len(html.render(document, 200_000).encode()) < 200_000
