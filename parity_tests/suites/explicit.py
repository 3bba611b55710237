"""Explicit parity tests: the marker and the fixture `constparity`.

A marked test runs what it jits on both pipelines, with and without `--constparity=both`, and a test
that has compared nothing fails: it would pass for ever, whatever the pipelines do.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from parity_tests.suites.explicit_rules import MarkerError, Rules, rules_of
from parity_tests.suites.messages import message_of
from parity_tests.suites.recording import Phase, Recorder
from reports.views.texts import counted

NAME = "constparity"
_NOTHING = "constparity: this parity test compared nothing"
_STOCK = (
    "functions that were jitted before the test began run on stock JAX: jit them in the test, call "
    "constparity.check, or run pytest with --constparity=both"
)


def is_explicit(item: pytest.Item) -> bool:
    """Say whether a test has the marker, or was given the fixture: a project may have its own."""
    return item.get_closest_marker(NAME) is not None or _ASKED in item.stash


def rules_for(item: pytest.Item) -> Rules:
    """Return the rules of a test: those of its nearest marker. Raises `pytest.UsageError`."""
    marker = item.get_closest_marker(NAME)
    if marker is None:
        return Rules()
    try:
        rules = rules_of(marker.args, marker.kwargs)
        return replace(rules, xfail="") if item.config.option.runxfail else rules
    except MarkerError as error:
        raise pytest.UsageError(f"{item.nodeid}: {error}") from error


class ExplicitTests:
    """The plugin while there are explicit parity tests.

    `recorder` is the one of shadow mode, which then judges the differences of these tests as well;
    None without shadow mode.
    """

    def __init__(self, recorder: Recorder | None) -> None:
        self._recorder = recorder

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Run what an explicit test compiles on both pipelines, and judge it."""
        if not is_explicit(item):
            return (yield)
        check = item.stash[_CHECKS] = Check(item, self._recorder)
        with check.whole_test() as now:
            result = yield
        check.judge(now)
        return result


class Check:
    """What the fixture `constparity` gives to a test."""

    def __init__(self, item: pytest.Item, recorder: Recorder | None) -> None:
        self._test, self._rules, self._recorder = item.nodeid, rules_for(item), recorder
        self._is_marked = item.get_closest_marker(NAME) is not None
        self._phases: list[Phase] = []  # of single checks

    def check(self, fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run a function on both pipelines, and return the results of the one that the test sees.

        Array arguments are traced; a function that was jitted keeps the options of its `jax.jit`.

        Raises `AssertionError` where the pipelines differ beyond the rules of the marker, and where
        nothing was compared.

        Example::

            def test_step(constparity):
                loss = constparity.check(step, jnp.ones(64))
                assert loss > 0
        """
        import engine
        from parity_tests.own_jit import is_jitted, options_of, unjitted

        with self._watched() as now:
            before = len(now.differences), now.compared
            options = options_of(fun) if is_jitted(fun) else {}
            result = engine.jit(unjitted(fun), **options)(*args, **kwargs)
        differences = now.differences[before[0] :]
        if differences and not self._rules.xfail:
            raise AssertionError(message_of(differences))
        if now.compared == before[1]:
            raise AssertionError(f"{_NOTHING}: {_why(now)}")
        return result

    @contextlib.contextmanager
    def whole_test(self) -> Iterator[Phase]:
        """Watch a marked test as a whole; of another one its single checks alone are watched."""
        if self._recorder is not None:
            with self._recorder.under(self._rules):
                yield self._recorder.now
        elif self._is_marked:
            from parity_tests.suites.explicit_watching import engine_in_place_of_jax, watched

            with watched(self._test, self._rules) as now, engine_in_place_of_jax():
                self._phases.append(now)
                yield now
        else:
            yield Phase(self._test, "call")

    def judge(self, now: Phase) -> None:
        """Fail a test that differs, that compared nothing, or whose expected difference is gone."""
        phases = self._phases or [now]
        found = [each for phase in phases for each in phase.differences]
        if found and self._recorder is None:
            if not self._rules.xfail:
                pytest.fail(message_of(found), pytrace=False)
            pytest.xfail(f"constparity: {self._rules.xfail}")
        if not any(phase.compared for phase in phases):
            why = [_why(phase) for phase in phases if phase.ran] or [_why(phases[0])]
            pytest.fail(f"{_NOTHING}: {why[0]}", pytrace=False)
        if self._rules.xfail and not found:
            pytest.fail(
                f"constparity: legacy and simplified agree, and xfail={self._rules.xfail!r} says "
                "that they differ; remove it from the marker",
                pytrace=False,
            )

    @contextlib.contextmanager
    def _watched(self) -> Iterator[Phase]:
        if self._recorder is not None:
            yield self._recorder.now
        elif self._is_marked:
            yield self._phases[0]
        else:
            from parity_tests.suites.explicit_watching import watched

            with watched(self._test, self._rules) as now:
                self._phases.append(now)
                yield now


_CHECKS = pytest.StashKey[Check]()
_ASKED = pytest.StashKey[bool]()


class CheckOfFixture:
    """The fixture `constparity`: `constparity.check(fun, *args, **kwargs)`, once its test runs."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._item = request.node
        self._item.stash[_ASKED] = True

    def check(self, fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run a function on both pipelines and compare: see `Check.check`."""
        if _CHECKS not in self._item.stash:
            raise RuntimeError("constparity.check is for the test itself, not for its fixtures")
        return self._item.stash[_CHECKS].check(fun, *args, **kwargs)


def _why(phase: Phase) -> str:
    if phase.ran:
        reasons = "; ".join(sorted(phase.reasons)) or "none of their runs was compared"
        return f"{counted(phase.ran, 'program')} ran: {reasons}"
    return f"no program ran through `jax.jit` while it ran; {_STOCK}"


def check_markers(items: Sequence[pytest.Item]) -> None:
    """Make sure that all markers are written well. Raises `pytest.UsageError`."""
    for each in items:
        rules_for(each)
