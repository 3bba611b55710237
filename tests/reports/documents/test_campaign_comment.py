"""The comment: small for any number of programs, by cause, and honest about what it leaves out."""

import re

import built_grids as built
import pytest
from markdown_it import MarkdownIt

from reports import render_grid, render_report
from reports.rows import FlipReason, FlipVerdict

LIMIT = 65_536
HOSTILE = "<script>alert(1)</script> `a` | @jax #12 **b**\n# c\n</details>\x00\u202e\ud800"


def program(campaigns, name, outcome="safe", *, what="seen", where="", action="", **fields):
    reasons = (
        FlipReason(outcome=outcome, kind=fields.pop("kind", "outputs"), what=what, where=where,
                   action=action),
    )  # fmt: skip
    flip = FlipVerdict(left="jax-legacy", right="jax-simplified", outcome=outcome, reasons=reasons)
    return campaigns.parity(name).model_copy(update={"flip": flip, **fields})


def test_the_whole_comment(campaigns):
    flag = {"where": "lib.py:7 (the flag)", "action": "do not read the flag"}
    campaign = campaigns.campaign(
        program(campaigns, "one"),
        program(campaigns, "cost", "safe but slower or larger", what="temporaries: 1 and 2"),
        program(campaigns, "b1", "different", what="outputs differ: 1 of 3", **flag),
        program(campaigns, "alone", "different", what="callbacks: 1 and 2", where="alone.py:3"),
        program(campaigns, "b2", "different", what="output shapes: [3] and [4]", **flag),
        program(campaigns, "lost", "could not compare", what="signal 11 after 3 s", kind="failure"),
    )
    text = render_report("comment", campaign)
    assert text.partition("\n\n**A flip breaks")[0] == (
        "### constparity: flip: no\n"
        "\n"
        "- flip: no. It breaks or changes 3 of 6 programs (b1, alone, b2); of the others, "
        "1 program could not be judged, 1 program pays a price, 1 program changes in nothing that "
        "is judged. First: b1: lib.py:7 (the flag): outputs differ: 1 of 3 → do not read the "
        "flag.\n"
        "- pipelines: constparity's own were not compared with stock JAX.\n"
        "- A flip changes nothing for 1 of 6 programs.\n"
        "- Measured with constparity 0.1.0 on jax 0.10.2, jaxlib 0.10.2, Python 3.11.7; 1 x cpu "
        "(cpu), Linux x86_64; 2026-08-20T12:00:00Z."
    )
    source = "parity_tests/corpus/plain.py:12"
    assert (
        "\n\n**A flip breaks or changes 3 of 6 programs**\n"
        "\n"
        "<details><summary><b>2 programs:</b> lib.py:7 (the flag): outputs differ (1), output "
        "shapes (1) → do not read the flag</summary>\n\n"
    ) in text
    assert f"- **b1** ({source}): outputs differ: 1 of 3\n- **b2** ({source}): output" in text
    assert "<b>1 program:</b> alone.py:3: callbacks</summary>" in text
    assert "**Nothing can be said of 1 of 6 programs**" in text
    assert "<b>1 program:</b> signal … after … s</summary>" in text
    assert "**A flip has a price for 1 of 6 programs**" in text
    assert "left out" not in text
    assert text.endswith("draws all of it.\n")


def counts_told(text):
    found = re.findall(r"([\d,]+) of 2,000 programs(?:\*\*|\.\n)", text)
    return [int(each.replace(",", "")) for each in found]


@pytest.mark.parametrize("distinct", [1, 10, 2000])
def test_two_thousand_programs_stay_below_the_limit_and_add_up(campaigns, distinct):
    outcomes = ("different", "could not compare", "safe but slower or larger", "safe")
    base = {each: program(campaigns, "f", each) for each in outcomes}
    rows = []
    for number in range(2000):
        row = base[outcomes[number % 4]]
        reason = row.flip.reasons[0].model_copy(
            update={"what": f"{'cause' * (number % distinct + 1)}: 3", "kind": "structure or count"}
        )
        flip = row.flip.model_copy(update={"reasons": (reason,)})
        rows.append(row.model_copy(update={"name": f"program {number} {'é' * 60}", "flip": flip}))
    campaign = campaigns.campaign(*rows)
    text = render_report("comment", campaign)
    assert len(text) <= len(text.encode()) < LIMIT
    assert sum(counts_told(text)) == 2000
    named = text.count("\n- **program ")
    left_out = re.findall(r"(?:groups, of |\*)([\d,]+)(?: more)? programs(?:,| are left)", text)
    assert sum(int(each.replace(",", "")) for each in left_out) == 1500 - named


def test_parity_is_one_line(campaigns):
    rows = [program(campaigns, f"f{number}") for number in range(500)]
    text = render_report("comment", campaigns.campaign(*rows))
    assert "- A flip changes nothing for 500 of 500 programs.\n" in text
    assert len(text.splitlines()) < 12
    assert "f17" not in text


def test_our_own_pipelines_have_a_block_of_their_own(campaigns):
    differs = campaigns.comparison("callbacks", "different", right="jax-legacy")
    row = program(campaigns, "ours", comparisons=(differs,), verdict="difference",
                  reasons=("legacy and jax-legacy: callbacks 1 and 2",))  # fmt: skip
    text = render_report("comment", campaigns.campaign(row))
    assert "own pipelines differ from stock JAX in 1 program, counted above as well**" in text
    assert "- **ours** (" in text
    assert "- Of these, 1 have the verdict: difference.\n" in text


def test_programs_that_were_not_run_are_counted(campaigns):
    campaign = campaigns.campaign(program(campaigns, "f", "different"))
    text = render_report("comment", campaign.model_copy(update={"not_run": ("g", "h")}))
    assert (
        "- Not run, for the campaign was interrupted or stopped at a finding: 2 programs.\n" in text
    )


def hostile(campaigns, text):
    row = program(campaigns, text, "different", what=text, where=text, action=text, source=text)
    odd = program(campaigns, text, "could not compare", what=text, kind="failure", source=text)
    return campaigns.campaign(row, odd).model_copy(update={"provenance": (text,)})


def test_hostile_text_is_shown_and_does_nothing(campaigns):
    text = render_report("comment", hostile(campaigns, HOSTILE))
    html = MarkdownIt("gfm-like", {"linkify": False, "html": True}).render(text)
    tags = {tag.split()[0] for tag in re.findall(r"</?([^<>!]+)>", html)}
    assert tags <= {"h3", "p", "strong", "ul", "li", "details", "summary", "b", "br", "code"}
    assert re.findall(r"<code>(.*?)</code>", html) == [
        "constparity report RESULT.json --report html:report.html"
    ]
    assert html.count("<details>") == html.count("</details>") == html.count("<summary>") == 2
    # Nobody is called, and no issue is linked.
    assert not re.search(r"@jax|#12", html)
    assert not re.search("[\x00\u202e\ud800]", text)


@pytest.mark.parametrize("text", ["x" * 10**6, "&@a" * 10**5, "\x00" * 10**5, "\U0001f600" * 10**5])
def test_even_the_worst_texts_stay_below_the_limit(campaigns, text):
    rows = hostile(campaigns, text).programs * 4
    campaign = campaigns.campaign(*rows).model_copy(update={"provenance": (text,) * 10})
    assert len(render_report("comment", campaign).encode()) < LIMIT


def test_a_grid(campaigns):
    grid = built.rich()
    text = render_grid("comment", grid)
    assert len(text.encode()) < LIMIT
    for version in grid.headline.versions:
        assert f"| {version.version} | " in text
    assert grid.headline.question.partition(":")[0] in text


def test_a_grid_of_many_programs_stays_below_the_limit():
    labels = [f"0.{number}.0" for number in range(20)]
    names = [f"program {number} {'é' * 200}" for number in range(100)]
    outcomes = ("safe", "different", "not repeatable")
    versions = [
        built.version(label, *(
            built.program(name, outcomes[(len(name) + at * index) % 3], what=f"it {name}")
            for index, name in enumerate(names)
        ))
        for at, label in enumerate(labels)
    ]  # fmt: skip
    text = render_grid("comment", built.of(*versions))
    assert len(text.encode()) < LIMIT
    assert "left out here; the JSON report has them" in text
