"""docs/use/migrating.md is what its programs say, on the JAX at hand."""

import json
import sys
from importlib.metadata import version

import pytest
import write_migrating as writer

FLAG, RELEASES = (*writer.USERS, *writer.AUTHORS), writer.RELEASES
# What these say is right before the flip, too, or is an error before it.
SAYS_THE_SAME = {"flag_set_too_late"}
NOT_FIXED_TO_BEFORE = {"flag_set_too_late", "last_bits", "pallas_kernel"}
MERGED = tuple(map(int, version("jax").split(".")[:2])) >= (0, 11)


@pytest.fixture(scope="module")
def seen():
    return json.loads(writer.SEEN.read_text())


@pytest.fixture(scope="module")
def said():
    """What all programs say here, by the flag."""
    return {flag: writer.said_by(sys.executable, flag, writer.NAMES)["said"] for flag in ("0", "1")}


def test_every_program_is_on_the_page():
    assert {each.stem for each in writer.PROGRAMS.glob("*.py")} == set(writer.NAMES)


def test_the_page_is_what_was_seen(seen):
    assert seen["digest"] == writer.digest(), "the programs changed: run write_migrating.py"
    assert writer.PAGE.read_text() == writer.page(seen)


def test_the_programs_say_here_what_the_page_says(seen, said):
    if version("jax") not in seen["said"]:
        pytest.skip("the page does not speak of this JAX")
    assert said == seen["said"][version("jax")]


def test_each_fix_says_the_same_in_both_forms(said):
    off, on = ({name: each["fixed"] for name, each in said[flag].items()} for flag in "01")
    assert off == on
    assert not [each for each in off.values() if "Error: " in each]


def test_each_fix_says_the_same_on_every_release(seen):
    [fixed] = {
        json.dumps({name: each["fixed"] for name, each in flags[flag].items()})
        for flags in seen["said"].values()
        for flag in "01"
    }
    assert "Error: " not in fixed


@pytest.mark.parametrize("name", writer.NAMES)
def test_lint_says_nothing_of_a_fix(name):
    assert writer.linted(name)[-1] == set()


def names_whose(names, said, is_so):
    """Return the names of programs of which something holds, where JAX has what they show."""
    return {
        name
        for name in names
        if is_so(said["0"][name], said["1"][name])
        and "no attribute 'closure_convert'" not in said["0"][name]["breaks"]
    }


def test_each_program_shows_a_change_of_the_flip(said):
    alike = names_whose(FLAG, said, lambda off, on: off["breaks"] == on["breaks"])
    assert alike == SAYS_THE_SAME


def test_each_fix_says_what_was_said_before_the_flip(said):
    otherwise = names_whose(FLAG, said, lambda off, _: off["fixed"] != off["breaks"])
    assert otherwise == NOT_FIXED_TO_BEFORE


def test_what_jax_0_11_changed_has_nothing_to_do_with_the_flag(said):
    changed = names_whose(RELEASES, said, lambda off, _: off["fixed"] != off["breaks"])
    assert changed == (set(RELEASES) if MERGED else {"bind_params"})
    depends = names_whose(RELEASES, said, lambda off, on: off["breaks"] != on["breaks"])
    assert depends == ({"private_tracing"} if MERGED else set())


def test_the_interpreter_is_right_where_the_page_says_so(said):
    assert [said[flag][writer.WHOLE]["fixed"] for flag in "01"] == ["[True, True, True]\nTrue"] * 2
