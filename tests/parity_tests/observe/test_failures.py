"""A check that raises is not measured, or has failed where it asks whether something works."""

import sys

import jax
import jax.numpy as jnp
import pytest

from parity_tests.observe.failures import attempt, exception
from parity_tests.own_packages import CollisionError
from reports.rows import Check

HOLDS = Check(name="a check", holds=True, statement="it holds")


def test_a_check_that_does_not_raise_says_what_it_found():
    assert attempt("a check", lambda: (HOLDS,)) == (HOLDS,)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (lambda: [].pop(), "it raised IndexError: pop from empty list"),
        (lambda: sys.exit(3), "it raised SystemExit: 3"),
        (lambda: next(iter(())), "it raised StopIteration"),
    ],
)
def test_a_check_that_raises_is_not_measured_unless_that_is_the_question(fault, said):
    [check] = attempt("a check", fault)
    assert (check.name, check.holds, check.measured, check.statement) == (
        "a check",
        True,
        False,
        said,
    )
    [check] = attempt("a check", fault, raised_fails=True)
    assert (check.holds, check.measured, check.statement) == (False, True, said)


def test_what_the_user_asks_to_end_ends():
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attempt("a check", interrupted)


def raised_by(fun):
    try:
        fun()
    except (TypeError, ZeroDivisionError) as error:
        return error
    raise AssertionError("it raised nothing")


def without_lines_of_users(error):
    """The same exception, as if the tester had called JAX."""
    trace = error.__traceback__
    while trace is not None and "/jax/" not in trace.tb_frame.f_code.co_filename:
        trace = trace.tb_next
    return error.with_traceback(trace)


@pytest.mark.parametrize("filtering", ["off", "remove_frames"])
def test_a_failure_of_jax_itself_is_told_from_one_of_the_program(filtering):
    def add_shapes():
        jax.eval_shape(jnp.add, jnp.ones(3), jnp.ones(4))

    before = jax.config.jax_traceback_filtering
    jax.config.update("jax_traceback_filtering", filtering)
    try:
        error = raised_by(add_shapes)
    finally:
        jax.config.update("jax_traceback_filtering", before)
    assert not exception(error, "trace").of_jax  # this file's lines are a user's
    assert exception(without_lines_of_users(error), "trace").of_jax


def test_a_collision_of_packages_is_no_difference_of_sides():
    collision = CollisionError("constparity has a package 'engine', and so have you")
    assert exception(collision, "trace").kind == "unavailable"
    assert exception(ImportError("no module named 'engine'"), "trace").kind == "exception"


def test_a_failure_of_the_tester_is_none_of_jax():
    error = raised_by(lambda: 1 / 0)
    assert not exception(error.with_traceback(None), "count").of_jax
