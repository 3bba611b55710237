"""Words that follow their numbers, and paths that begin with their package."""

import html_pages
import pytest

from reports import render_report
from reports.rows import FlipReason, FlipVerdict
from reports.views.texts import counted, from_package_on, terms_of


def test_nouns_follow_their_numbers():
    assert counted(1, "leaf") == "1 leaf"
    assert counted(2, "leaf") == "2 leaves"
    assert counted(0, "program") == "0 programs"


INSTALLED = "/home/me/.venv/lib/python3.11/site-packages"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"{INSTALLED}/jax/core.py:7 (the flag)", "jax/core.py:7 (the flag)"),
        (f'  File "{INSTALLED}/jax/a b.py", line 3', '  File "jax/a b.py", line 3'),
        (f"a.py:1, {INSTALLED}/x.py:2 ({INSTALLED}/y.py)", "a.py:1, x.py:2 (y.py)"),
        (".venv/lib/python3.12/site-packages/optax/_src/base.py:4", "optax/_src/base.py:4"),
        ("/usr/lib/python3/dist-packages/numpy/x.py", "numpy/x.py"),
        # Nobody could say where these begin, or they are no path of a package.
        ("/home/my home/site-packages/jax/core.py", "/home/my home/site-packages/jax/core.py"),
        ("the site-packages/ of Python", "the site-packages/ of Python"),
        ("model.py:12", "model.py:12"),
    ],
)
def test_paths_of_installed_files_begin_with_their_package(text, shown):
    assert from_package_on(text) == shown


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
