"""Markdown: every part of a document, and texts that are shown whatever they hold."""

import re

import built_documents as built
import pytest
from markdown_it import MarkdownIt

from reports.document import Sections
from reports.output import comment, markdown
from tests.helpers.built_grids import HOSTILE

TABLE = "| t | t |\n| :--- | ---: |\n| **t** | t |"
SECTION = f"t\n\n**t**\n\n{TABLE}\n\n```text\nt\n```"


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("rank_4_lora", "rank_4_lora"),
        ("__init__", r"\_\_init\_\_"),
        ("a | b", r"a \| b"),
        ("a\\|b", r"a\\\|b"),
        ("`x`", r"\`x\`"),
        ("<b>&amp;", "&lt;b&gt;&amp;amp;"),
        ("![x](u)", r"!\[x](u)"),
        ("a\r\nb\rc\u2028d\n", "a<br>b<br>c<br>d"),
        ("$x$ *y* ~z~", r"\$x\$ \*y\* \~z\~"),
        ("\u202etxt", r"\\u202etxt"),
    ],
)
def test_escape(text, escaped):
    assert markdown.escape(text) == escaped


def test_a_whole_page_of_every_part():
    assert markdown.render(built.every_part("t")) == (
        "# constparity: t\n"
        "\n"
        "- t\n- t\n"
        "\n"
        "## t\n"
        "\n"
        "t\n"
        "\n"
        "- **t** t\n- t\n"
        "\n"
        "```text\nt\n```\n"
        "\n"
        f"**t**\n\n{TABLE}\n"
        "\n"
        f"<details><summary>t</summary>\n\n{TABLE}\n\n*t*\n\n</details>\n"
        "\n"
        "<details><summary>t</summary>\n\n- t\n\n</details>\n"
        "\n"
        f"### t: t\n\n{SECTION}\n"
        "\n"
        f"### t: t\n\n{SECTION}\n"
        "\n"
        "t\n"
        "\n"
        f"<details><summary><b>t:</b> t</summary>\n\n{SECTION}\n\n</details>\n"
        "\n"
        "## for pages alone\n"
        "\n"
        f"### t: t\n\n{SECTION}\n"
    )


def test_a_comment_folds_its_sections_and_leaves_the_details_to_the_page():
    text = comment.render(built.every_part("t"), link="https://example.org/report.html")
    assert text.startswith("### constparity: t\n\n- t\n- t\n\n**t**\n\nt\n")
    assert text.count(f"<details><summary><b>t:</b> t</summary>\n\n{SECTION}\n\n</details>") == 3
    assert "for pages alone" not in text
    assert text.endswith(
        "\n\n- [The whole report](<https://example.org/report.html>) has all of it.\n"
        "- `constparity report RESULT.json --report html:report.html` draws all of it.\n"
    )
    with pytest.raises(ValueError, match="illegal link"):
        comment.render(built.every_part("t"), link="javascript:alert(1)")


@pytest.mark.parametrize(("render", "rows"), [(markdown.render, 60), (comment.render, 12)])
def test_a_long_table_is_folded(render, rows):
    assert "<details>" not in render(built.of(built.table(rows=rows)))
    assert "<details><summary>t</summary>" in render(built.of(built.table(rows=rows + 1)))


def test_what_is_left_out_is_said():
    sections = tuple(built.section("x" * 900, number) for number in range(400))
    text = markdown.render(built.of(Sections(sections, "programs")), limit_bytes=100_000)
    shown = text.count("\n### ")
    assert 5 < shown < 20
    assert text.endswith(
        f"**Cut here:** {400 - shown} more programs are left out here; the JSON report has them.\n"
    )


@pytest.mark.parametrize("render", [markdown.render, comment.render])
@pytest.mark.parametrize("text", [HOSTILE, "# a", "- a", "1. a", "+ a", "===", "    a", "> a"])
def test_texts_are_shown_and_give_no_orders(render, text):
    made = MarkdownIt("gfm-like", {"linkify": False, "html": True})
    harmless, hostile = (made.render(render(built.every_part(each))) for each in ("t", text))
    tags = [re.findall(r"</?[a-z0-9]+", each) for each in (harmless, hostile)]
    plain = ["<br", "<strong", "</strong"]  # a line break in a text; a cell that is not empty
    assert [each for each in tags[1] if each not in plain] == [
        each for each in tags[0] if each not in plain
    ]
    assert not re.search("[\x00\x1b]|@jax", hostile)
