"""The scorecard of the flip as Markdown."""

from __future__ import annotations

from reports import render_report
from reports.rows.scorecard import OnRelease, Release, Scorecard, ScoreLine, Seen

OFF = Seen(side="jax-legacy", text="1.0")
ON = Seen(side="jax-simplified", text="ValueError: no", failed=True)
RIGHT = (OFF, Seen(side="jax-simplified", text="1.0"))
OURS = (Seen(side="legacy", text="1.0"), Seen(side="simplified", text="1.0"))
LINE = ScoreLine(
    name="some_array", title="An array is captured.", kind="fails", effect="against the flip",
    who="some", origin="jax#1", way_round="none", fault=("1.0", "ValueError: no"),
    right=("1.0", "1.0"), by_design="", code="a.py, f", file="some_array.py", program="print(1.0)",
    releases=(
        OnRelease(jax="0.10.2", state="right", engine="right", seen=(*RIGHT, *OURS)),
        OnRelease(jax="0.13", state="new", engine=None, seen=(OFF, ON)),
    ),
)  # fmt: skip
FIXES = LINE.model_copy(
    update={"name": "other", "effect": "fixed by the flip", "releases": LINE.releases[1:]}
)
CARD = Scorecard(
    created="2026-01-01T00:00:00+00:00", constparity="0.1.0", inputs="abc", lines=(LINE,),
    releases=(
        Release(jax="0.10.2", jaxlib="0.10.2", python="3.11.7", platform="cpu"),
        Release(jax="0.13", jaxlib="0.13", python="3.13.0", platform="gpu", engine_refuses="a"),
    ),
)  # fmt: skip


def test_a_line_as_markdown() -> None:
    head, _, rest = render_report("md", CARD).partition("\n\nEach line is a small program")
    assert head == (
        "# constparity: scorecard of the flip, jax 0.13: 1 against it\n\n"
        "- jax 0.10.2 with jaxlib 0.10.2 and Python 3.11.7, on cpu\n"
        "- jax 0.13 with jaxlib 0.13 and Python 3.13.0, on gpu; the engine does not run there: a\n"
        "- 1 program, digest abc, 2026-01-01"
    )
    assert rest.partition("simplified for on.\n\n")[2] == (
        "**Against the flip**\n\n"
        "| kind | line | what it is | jax 0.10.2 | jax 0.13 | engine |\n"
        "| :--- | :--- | :--- | :--- | :--- | :--- |\n"
        "| fails | some_array | An array is captured. | right | **new** | right |\n\n"
        "## The lines\n\n"
        "### new: some_array\n\n"
        "- **Who is hit:** some\n"
        "- **It belongs to:** jax#<!-- -->1\n"
        "- **In JAX's code:** a.py, f\n"
        "- **The way round:** none\n"
        "- **Fixed once** both modes show '1.0'\n"
        "- **JAX, flag off:** 1.0\n"
        "- **JAX, flag on; engine, legacy; engine, simplified, on 0.10.2:** 1.0\n"
        "- **JAX, flag on, on 0.13:** ValueError: no\n"
    )


def test_what_the_flip_fixes_is_counted() -> None:
    card = CARD.model_copy(update={"lines": (LINE, FIXES)})
    assert render_report("md", card).partition("\n")[0] == (
        "# constparity: scorecard of the flip, jax 0.13: 1 against it, it fixes 1"
    )
