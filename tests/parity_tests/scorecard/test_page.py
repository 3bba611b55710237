"""docs/understand/scorecard.md is what the programs show: of these, and on the JAX at hand.

Five lines are run anew here; all of them in `make deep`, on the newest JAX as well. So a release
that changes a line is seen.
"""

import os
import re
import sys
from pathlib import Path

import pytest

from parity_tests.processes.side_environment import FOLDER
from parity_tests.scorecard.score import digest, lines, read, score
from reports.documents.scorecard import SIDE_NAMES
from reports.output.markdown import escape
from reports.rows import SIDES

PAGE = (FOLDER / "docs" / "understand" / "scorecard.md").read_text("utf-8")
# One of each kind. "all" has all of them, in three minutes.
FIVE = (
    "numpy_overwritten_after_call", "captured_and_donated", "committed_outputs",
    "one_array_many_uses", "closure_convert",
)  # fmt: skip
EVERY = os.environ.get("CONSTPARITY_TEST_SCORECARD") == "all"

# Programs whose fault is not what they show: each with its state on the JAX at hand.
HEADER = """\"\"\"A planted fault.

kind: fails
off: as always
on: ValueError: the fault
who: nobody
from: this test
way round: none
\"\"\"
import os
on = os.environ["JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"] == "1"
"""
PLANTED = {
    "fixed": ("right", "print('as always')"),
    "open": ("open", "if on: raise ValueError('the fault')\nprint('as always')"),
    "of_another_text": ("changed", "print('something else')"),
    "with_another_error": ("not known", "if on: raise KeyError('k')\nprint('as always')"),
    "dies": ("not known", "print('as always', flush=True)\nif on: os.abort()"),
    "leaves": ("changed", "if on: raise SystemExit\nprint('as always')"),
    "exits": ("not known", "if on: os._exit(3)\nprint('as always')"),
    # The tests have it set, for their devices; a program makes the settings that it needs.
    "without_settings": ("right", "print('set' if 'XLA_FLAGS' in os.environ else 'as always')"),
    "absent": ("not in this release", "print('not in this release')"),
}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """The scorecard of five lines, and of the planted ones, on stock JAX here; else of all."""
    folder = tmp_path_factory.mktemp("planted")
    for name, (_, program) in PLANTED.items():
        (folder / f"{name}.py").write_text(f"{HEADER}{program}\n")
    named = [each for each in lines() if EVERY or each.name in FIVE]
    planted = [read(folder / f"{name}.py") for name in PLANTED]
    sides = SIDES if EVERY else ("jax-legacy", "jax-simplified")
    made = score([*named, *planted], [Path(sys.executable)], sides=sides)
    return {each.name: each for each in made.lines}


def states_on_page():
    """The state of each line on each release, by the tables of the page."""
    row = r"^\| [a-z ]+ \| (\w+) \| .*? \| (.*) \| [^|]+ \|$"
    rows = re.findall(row, PAGE.partition("## The lines")[0], re.MULTILINE)
    releases = rows[0][1].replace("jax ", "").split(" | ")
    return {
        name: dict(zip(releases, states.replace("*", "").split(" | "), strict=True))
        for name, states in rows
        if name != "line"  # the titles of each table
    }


def shown_on_page(name):
    """What the section of a line says was shown: for each side and release (None: all) a text."""
    [section] = re.findall(
        rf"^### [a-z ]+: {name}\n(.*?)(?=^### |\Z)", PAGE, re.MULTILINE | re.DOTALL
    )
    found = {}
    for sides, releases, text in re.findall(
        r"^- \*\*((?:JAX|engine), .*?)(?:, on (.*?))?:\*\* (.*)$", section, re.MULTILINE
    ):
        for side in sides.split("; "):
            for release in releases.split(", "):
                found[side, release or None] = text
    return found


def test_the_page_is_of_these_programs():
    """Else run `make scorecard`."""
    assert f"{len(lines())} programs, digest {digest(lines())}" in PAGE
    assert list(states_on_page()) == [each.name for each in lines()]


def test_the_page_says_what_the_programs_show_here(found):
    """On a release that the page does not have, the states of its newest one have to hold."""
    page = states_on_page()
    for name in found.keys() - PLANTED.keys():
        line = found[name]
        known = page[name].get(line.newest.jax)
        expected = known or list(page[name].values())[-1]
        # Alone, a release has none before it.
        assert line.newest.state == {"new": "open", "fixed": "right"}.get(expected, expected), name
        if known and "and not" not in line.fault[0]:  # whose numbers differ from run to run
            shown = shown_on_page(name)
            for seen in line.newest.seen:
                side = SIDE_NAMES[seen.side]
                on_page = shown.get((side, None)) or shown[side, line.newest.jax]
                assert on_page == escape(seen.text), (name, side)


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_program_has_its_state(found, name):
    assert found[name].newest.state == PLANTED[name][0]


def test_how_a_program_failed_is_seen(found):
    seen = {
        name: each.text
        for name, line in found.items()
        for each in line.newest.seen
        if each.side == "jax-simplified"
    }
    assert seen["with_another_error"] == "KeyError: 'k'"
    assert seen["dies"] == "as always\ndied of SIGABRT"
