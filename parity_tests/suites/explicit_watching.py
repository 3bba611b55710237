"""Watching the programs of one test on both pipelines, whatever the rest of the suite runs on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import jax

import engine
from engine import api
from engine.runtime.watching import watch, watcher
from parity_tests import in_place_of_jax
from parity_tests.suites.explicit_rules import Rules
from parity_tests.suites.journal import Journal
from parity_tests.suites.recording import Phase, Recorder
from parity_tests.suites.shadowing import Shadow


class _NoJournal(Journal):
    """A journal of a run that reports nothing."""

    def _write(self, **line: Any) -> None:
        pass


@contextlib.contextmanager
def watched(test: str, rules: Rules) -> Iterator[Phase]:
    """Run what `engine.jit` compiles in this block on both pipelines, and compare by the rules.

    The phase that is yielded has what was found.
    """
    recorder, before = Recorder(_NoJournal()), watcher()
    api.forget_calls()
    watch(Shadow(recorder))
    try:
        with recorder.during(test, "call") as now, recorder.under(rules):
            yield now
    finally:
        watch(before)


@contextlib.contextmanager
def engine_in_place_of_jax() -> Iterator[None]:
    """Put `engine.jit` in the place of `jax.jit` in all modules for this block.

    Functions that are jitted already keep the `jit` that they have.
    """
    if jax.jit is engine.jit:
        yield  # of the whole suite
        return
    stock = {name: getattr(jax, name) for name in in_place_of_jax.SWAPPED}
    places = [(jax, name, name) for name in stock] + list(in_place_of_jax.places_of(stock))
    for module, attribute, name in places:
        setattr(module, attribute, getattr(engine, name))
    try:
        yield
    finally:
        for module, attribute, name in places:
            # A test that has put something else there, has its reasons.
            if getattr(module, attribute, None) is getattr(engine, name):
                setattr(module, attribute, stock[name])
