"""The words of answers: the code has each list once, and docs and terminal have all of them."""

import re
from pathlib import Path
from typing import get_args

from parity_tests.cli import terminal
from reports.rows import (
    bench,
    bisection,
    claims,
    comparison,
    flip,
    grid_row,
    headline,
    history,
    observation,
    plan,
    program_row,
    scorecard,
)

ROOT = Path(__file__).parent.parent
WORDS = {
    "the flip of all programs": headline.FlipAnswer,
    "the flip of a program": flip.FlipOutcome,
    "verdict of a program": program_row.Verdict,
    "outputs, from rung to rung": comparison.Rung,
    "cause of drift": flip.DriftCause,
    "times of two sides": comparison.TimeVerdict,
    "proof of a program": claims.Answer,
    "captured array on a side": observation.Fate,
    "state of a planned program": plan.State,
    "program of two stored runs": history.ProgramChangeOutcome,
    "side on two versions": grid_row.VersionOutcome,
    "answer of `bisect`": bisection.BisectAnswer,
    "line of the scorecard": scorecard.State,
    "target of `bench`": bench.Outcome,
}


def test_the_glossary_has_the_words_that_the_code_answers_with():
    page = (
        (ROOT / "docs" / "understand" / "glossary.md")
        .read_text("utf-8")
        .partition("## Words of answers")[2]
    )
    table = dict(re.findall(r"^\| (.+?) \| (.+) \|$", page, re.MULTILINE))
    del table["of"]
    assert table == {what: " · ".join(get_args(words)) for what, words in WORDS.items()}


def test_a_page_has_a_colour_for_each_word_that_a_terminal_colours():
    for words, coloured in (
        (headline.FlipAnswer, terminal.ANSWER_STYLES),
        (flip.FlipOutcome, terminal.FLIP_STYLES),
        (program_row.Verdict, terminal.STYLES),
        (flip.DriftCause, terminal.DRIFT_STYLES),
    ):
        assert set(coloured) == set(get_args(words))
