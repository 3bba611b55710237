"""Small test-suites in a temporary folder, run by pytest in a process of its own."""

import os
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

from forked_pytest import PytestServer

# Without plugins that have nothing to do with ours, and take a second to import.
QUIETLY = ["-q", "-pno:cacheprovider", "-pno:hypothesispytest", "-pno:jaxtyping"]

# A fault of the simplified pipeline: it passes other const args than the program captured.
FAULT = """
import jax.numpy as jnp
from engine.runtime import lowering

stock = lowering._lower


def faulty(pipeline, plan, const_args, *args, **kwargs):
    if pipeline.side == "simplified":
        const_args = tuple(2 * each for each in const_args)
    return stock(pipeline, plan, const_args, *args, **kwargs)


lowering._lower = faulty
"""

HEAD = """
import functools
import threading

import jax
import jax.numpy as jnp
import pytest

TABLE = jnp.arange(64.0)


@jax.jit
def scaled(x):
    return x * TABLE

"""


# A test for each way to reach `jax.jit`.
WAYS = """
from jax import jit


@functools.partial(jax.jit, static_argnums=1)
def partial(x, n):
    return n * x * TABLE


class Model:
    @functools.partial(jax.jit, static_argnums=0)
    def method(self, x):
        return x + TABLE


@jit
def by_name(x):
    return x - TABLE


def test_decorated():
    scaled(2.0)


def test_partial():
    partial(2.0, 3)


def test_method():
    Model().method(2.0)


def test_by_name():
    by_name(2.0)


def test_lambda():
    jax.jit(lambda x: x / TABLE)(2.0)


def test_gradient():
    jax.grad(lambda x: scaled(x).sum())(2.0)


def test_vmapped():
    jax.vmap(scaled)(jnp.ones(3))


def test_thread():
    thread = threading.Thread(target=scaled, args=(3.0,))
    thread.start()
    thread.join()


def test_ahead_of_time():
    scaled.lower(2.0).compile()(2.0)


def test_inner_function():
    jax.jit(lambda x: scaled(x) + 1)(2.0)


@pytest.fixture
def made():
    return scaled(1.0)


def test_fixture(made):
    pass


def test_equinox():
    eqx = pytest.importorskip("equinox")
    eqx.filter_jit(lambda x: x * TABLE)(jnp.ones(64))


def test_nnx():
    nnx = pytest.importorskip("flax.nnx")
    nnx.jit(lambda x: x * TABLE)(jnp.ones(64))
"""
TESTS_OF_WAYS = WAYS.count("def test_")


@dataclass(frozen=True)
class Run:
    """What a run of pytest left."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def output(self):
        """All that was written."""
        return self.stdout + self.stderr

    @property
    def outcomes(self):
        """The counts of the last line, as in {"passed": 3}."""
        counted = r"^(?:=+ )?(\d+ (?:passed|failed|error|skipped|x).*) in [\d.]+s"
        *_, last = re.findall(counted, self.stdout, re.MULTILINE)
        return {word: int(count) for count, word in re.findall(r"(\d+) ([a-z]+)", last)}

    @property
    def section(self):
        """The lines of constparity's section of the summary."""
        _, found, rest = self.output.partition(" constparity ===")
        lines = rest.splitlines()[1:] if found else []
        end = next((n for n, line in enumerate(lines) if line.startswith("===")), len(lines))
        return lines[:end]


class Suite:
    """A folder with test files. Pytest runs in it by a server, or in a process that is all new."""

    def __init__(self, folder: Path, server: PytestServer):
        self.folder = folder
        self.server = server
        (folder / "pytest.ini").write_text("[pytest]\n")

    def write(self, tests, *, head=HEAD, name="test_planted.py"):
        (self.folder / name).write_text(head + textwrap.dedent(tests))
        return self

    def plant(self, code=FAULT):
        (self.folder / "conftest.py").write_text(code)
        return self

    def run(self, *options, timeout=300, is_new=False):
        options = [*QUIETLY, *options]
        environment = {**os.environ, "COLUMNS": "200"}
        if is_new:
            found = subprocess.run(
                [sys.executable, "-m", "pytest", *options],
                cwd=self.folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=timeout,
            )
        else:
            found = self.server.run(options, self.folder, environment, timeout)
        return Run(found.returncode, found.stdout, found.stderr)
