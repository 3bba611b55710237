"""docs/migrating.md is what its programs say, on the JAX at hand."""

import json
import sys
from importlib.metadata import version

import pytest
import write_migrating as writer

NAMES = (*writer.USERS, *writer.AUTHORS)
# What these say is right before the flip, too, or is an error before it.
SAYS_THE_SAME = {"flag_set_too_late"}
NOT_MENDED_TO_BEFORE = {"flag_set_too_late", "last_bits", "pallas_kernel"}


@pytest.fixture(scope="module")
def seen():
    return json.loads(writer.SEEN.read_text())


@pytest.fixture(scope="module")
def said():
    """What all programs say here, by the flag."""
    return {flag: writer.said_by(sys.executable, flag, NAMES)["said"] for flag in ("0", "1")}


def test_every_program_is_on_the_page():
    assert {each.stem for each in writer.PROGRAMS.glob("*.py")} == set(NAMES)


def test_the_page_is_what_was_seen(seen):
    assert seen["digest"] == writer.digest(), "the programs changed: run write_migrating.py"
    assert writer.PAGE.read_text() == writer.page(seen)


def test_the_programs_say_here_what_the_page_says(seen, said):
    if version("jax") not in seen["said"]:
        pytest.skip("the page does not speak of this JAX")
    assert said == seen["said"][version("jax")]


def test_each_mend_says_the_same_in_both_forms(said):
    off, on = ({name: each["mended"] for name, each in said[flag].items()} for flag in "01")
    assert off == on
    assert not [each for each in off.values() if "Error: " in each]


def test_each_program_shows_a_change_of_the_flip(said):
    alike = {
        name
        for name in NAMES
        if said["0"][name]["breaks"] == said["1"][name]["breaks"]
        and "no attribute 'closure_convert'" not in said["0"][name]["breaks"]
    }
    assert alike == SAYS_THE_SAME


def test_each_mend_says_what_was_said_before_the_flip(said):
    otherwise = {
        name
        for name in NAMES
        if said["0"][name]["mended"] != said["0"][name]["breaks"]
        and "no attribute 'closure_convert'" not in said["0"][name]["breaks"]
    }
    assert otherwise == NOT_MENDED_TO_BEFORE
