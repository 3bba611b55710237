"""What a program can change for its whole process: JAX's settings and functions, the environment.

The next program in that process would run under it. Values of environment variables are not told,
because some are secret.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from operator import is_
from typing import Any

import jax
import numpy as np

from parity_tests import own_packages, targets
from parity_tests.observe import compile_cache

# Whose functions programs replace: public names alone, which a program can mean to replace.
_MODULES = (jax, jax.numpy, jax.lax, jax.random, jax.nn, np)
_STREAMS = ("stdout", "stderr")
_SIGNALS = signal.valid_signals()
_OF_JAX = ("MOSAIC_GPU_CUDA_ROOT",)  # variables that JAX sets itself, when Pallas is imported


@dataclass(frozen=True)
class ProcessState:
    """The state of this process at one moment."""

    functions: Mapping[str, Mapping[str, Any]]  # by module; all that it has, for a copy is cheap
    settings: Mapping[str, Any]
    variables: Mapping[str, str]
    directory: str
    streams: Mapping[str, tuple[Any, bool, tuple[int, int] | None]]  # object, closed, its file
    path: tuple[str, ...]
    handlers: Mapping[signal.Signals | int, Any]
    cached: int  # executables that JAX has put into its persistent cache

    @classmethod
    def now(cls) -> ProcessState:
        """Take the state of this moment; it costs a fraction of a millisecond."""
        return cls(
            {module.__name__: dict(vars(module)) for module in _MODULES},
            {**jax.config.values, **_settings_of_engine(), **_settings_of_python()},
            {name: value for name, value in os.environ.items() if name not in _OF_JAX},
            _directory(),
            {name: _stream(name) for name in _STREAMS},
            tuple(sys.path),
            {number: signal.getsignal(number) for number in _SIGNALS},
            compile_cache.entries_written(),
        )

    def changes(self, later: ProcessState) -> tuple[str, ...]:
        """Say what is otherwise in a later state, each change in words that follow "it".

        Example::

            before.changes(ProcessState.now()) == ("sets jax_enable_x64 to True (it was False)",)
        """
        return tuple(
            [
                *self._functions(later),
                *self._settings(later),
                *self._variables(later),
                *self._directory_and_path(later),
                *self._streams(later),
                *self._handlers(later),
                *(["fills JAX's persistent cache"] if later.cached > self.cached else ()),
            ]
        )

    def apart_from_path(self, later: ProcessState) -> tuple[str, ...]:
        """Say what `changes` says, except for `sys.path`, which an import may well add to."""
        return replace(self, path=later.path).changes(later)

    def is_restored(self) -> bool:
        """Take back settings of JAX, and say whether the process is in this state again.

        Those are taken back that have a context manager: JAX latches no such setting.

        Example::

            at_start = ProcessState.now()
            jax.config.update("jax_enable_x64", True)
            at_start.is_restored()
        """
        for name, value in self.settings.items():
            if hasattr(jax, name.removeprefix("jax_")) and jax.config.values[name] != value:
                jax.config.update(name, value)
        return not self.apart_from_path(ProcessState.now())

    def _functions(self, later: ProcessState) -> Iterator[str]:
        for module, before in self.functions.items():
            now = later.functions[module]
            # Nearly every program leaves them alone, and there are thousands of names.
            if [*before] == [*now] and all(map(is_, before.values(), now.values())):
                continue
            for name, value in before.items():
                if now.get(name) is not value and callable(value):
                    yield f"replaces {module}.{name}"

    def _settings(self, later: ProcessState) -> Iterator[str]:
        for name, value in self.settings.items():
            now = later.settings.get(name, value)
            if now is not value and now != value:
                yield f"sets {name} to {now!r} (it was {value!r})"

    def _variables(self, later: ProcessState) -> Iterator[str]:
        for name in {**self.variables, **later.variables}:
            if name not in later.variables:
                yield f"removes the environment variable {name}"
            elif self.variables.get(name) != later.variables[name]:
                yield f"sets the environment variable {name}"

    def _directory_and_path(self, later: ProcessState) -> Iterator[str]:
        if later.directory != self.directory:
            yield f"changes the working directory to {later.directory or 'a deleted folder'}"
        if later.path != self.path:
            yield "changes sys.path"

    def _streams(self, later: ProcessState) -> Iterator[str]:
        for name, before in self.streams.items():
            now = later.streams[name]
            if now == before:
                continue
            _, is_closed, file = now
            yield f"closes {name}" if is_closed or file is None else f"redirects {name}"

    def _handlers(self, later: ProcessState) -> Iterator[str]:
        for number, handler in self.handlers.items():
            if later.handlers.get(number) != handler:
                with contextlib.suppress(ValueError):
                    yield f"changes what {signal.Signals(number).name} does"


def _settings_of_engine() -> dict[str, Any]:
    """Return the engine's settings where it is imported; stock sides never import it."""
    engine = own_packages.imported("engine")
    if engine is None:
        return {}
    names = [name for name in dir(engine.config) if not name.startswith("_") and name != "update"]
    return {f"engine.config.{name}": getattr(engine.config, name) for name in names}


def _settings_of_python() -> dict[str, Any]:
    """Return settings with which the same code may raise."""
    return {"the recursion limit": sys.getrecursionlimit(), "numpy.geterr()": np.geterr()}


def _directory() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # it was deleted
        return ""


def _stream(name: str) -> tuple[Any, bool, tuple[int, int] | None]:
    stream = getattr(sys, name)
    try:
        status = os.fstat({"stdout": 1, "stderr": 2}[name])
    except OSError:
        return stream, True, None
    return stream, bool(getattr(stream, "closed", stream is None)), (status.st_dev, status.st_ino)


class MeasuringProcess:
    """What the programs of this process have changed in it since it started: who, and who may run.

    What a module sets when it is imported is meant for the programs of that module, which share the
    process. What a program changes while it runs is meant for nobody else.
    """

    def __init__(self) -> None:
        self._at_start = self._before = ProcessState.now()
        self._module = ""
        self._import_changes: tuple[str, ...] = ()
        self._said: set[str] = set()
        self._by_program: tuple[str, ...] = ()
        self._seen: tuple[str, ...] = ()

    def has_imported(self, target: str) -> None:
        """Note what the process is like when the module of a program is imported.

        The next programs of the module find it like that, or the process is not fit for them.
        """
        module, _ = targets.split(target)
        if module == self._module:
            return
        self._module = module
        self._before = ProcessState.now()
        self._import_changes = self._at_start.apart_from_path(self._before)

    def changes_of_program(self, seen: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return who changed what since the last call: the program, or the import of its module.

        `seen` is what else the program was seen to change for its process.
        """
        self._seen = seen
        self._by_program = self._before.changes(ProcessState.now())
        new = [each for each in self._import_changes if each not in self._said]
        self._said.update(new)
        by = {f"the import of {self._module}": new, "the program": self._by_program}
        found = tuple(f"{who} {', '.join(changes)}" for who, changes in by.items() if changes)
        return (*found, *seen)

    def changes_of_checks(self) -> tuple[str, ...]:
        """Return what the program has changed since then, when it was traced in the other form."""
        before = self._by_program
        self._by_program = self._before.changes(ProcessState.now())
        new = [each for each in self._by_program if each not in before]
        return (f"the program, traced in simplified form, {', '.join(new)}",) if new else ()

    def may_go_on_with(self, target: str) -> bool:
        """Say whether a program would run as if it were the first of its process."""
        if self._by_program or self._seen:
            return False
        return not self._import_changes or targets.split(target)[0] == self._module
