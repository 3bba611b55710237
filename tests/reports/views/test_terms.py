"""The legend of a page explains the words that stand on it, and no others."""

import html_pages
import pytest

from reports import render_report
from reports.rows import FlipReason, FlipVerdict
from reports.views.texts import terms_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ulp at the only output: max rel 1e-07, 1 ULP", ["ulp", "max rel, max abs, ULP"]),
        ("tolerance at ['w']: max rel 1e-06", ["tolerance", "max rel, max abs, ULP", "at ['w']"]),
        ("output structure: ([*]) against ({'y': *})", ["*"]),
        ("a * b: temporaries of a call: 1 B against 2 B", []),
    ],
)
def test_each_word_that_is_used_is_explained(text, words):
    assert [each.word for each in terms_of([text])] == words


@pytest.mark.parametrize("format_", ["html", "md", "comment"])
def test_a_report_with_a_drift_has_the_legend(campaigns, format_):
    what = "outputs are not bitwise equal: ulp at the only output: max rel 1e-07"
    found = FlipReason(outcome="numerics drift, explained", kind="outputs", what=what)
    flip = FlipVerdict(
        left="jax-legacy", right="jax-simplified", outcome=found.outcome, reasons=(found,)
    )
    drifts = campaigns.parity("f").model_copy(update={"flip": flip})
    texts = [
        html_pages.whole(render_report(format_, campaigns.campaign(row)))
        for row in (drifts, campaigns.parity("f"))
    ]
    assert ["units in the last place" in text for text in texts] == [True, False]
