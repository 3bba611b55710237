"""The interpreters that a suite runs in: this one, and those of `--constparity-python`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from parity_tests.processes.interpreters import interpreter_at, versions_of

# Not pydantic and no package of ours: a process of stock JAX has pytest and the project's packages.
NEEDED = ("jax", "jaxlib", "pytest")


@dataclass(frozen=True)
class SuitePython:
    """An interpreter, and its name in reports: "JAX 0.12.0.1", with its path if two are alike."""

    python: Path
    name: str
    is_own: bool


def suite_pythons(paths: Sequence[str]) -> list[SuitePython]:
    """Return this interpreter and those at paths.

    Raises `InterpreterError` where a path is no interpreter, or lacks jax or pytest.

    Example::

        [each.name for each in suite_pythons(["~/jax-0.12"])] == ["JAX 0.10.2", "JAX 0.12.0.1"]
    """
    found = [(Path(sys.executable), f"JAX {metadata.version('jax')}")]
    for path in paths:
        python = interpreter_at(path, needed=NEEDED)
        found.append((python, f"JAX {versions_of(python).jax}"))
    names = [name for _, name in found]
    return [
        SuitePython(python, name if names.count(name) == 1 else f"{name} ({python})", number == 0)
        for number, (python, name) in enumerate(found)
    ]
