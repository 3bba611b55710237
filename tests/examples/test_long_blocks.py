"""The shell of the guides that takes minutes, typed: suites, releases of JAX, a cluster, searches.

With `make deep`. The blocks of a page are typed in their order, in one project. A reader's names
stand for what is here: `node-1` for this machine, `~/jax-0.12` for the checkout's environment.
"""

import os
import signal
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from doc_blocks import PAGES, ROOT, blocks, excerpt, is_long, lines_of
from test_shell_blocks import MODEL

from parity_tests.environments import find_python
from tests.helpers.relays import free_port

pytestmark = pytest.mark.deep
OTHER = ROOT / ".venv-jax0.12.0.1"
SUITE = """
import jax
from my_model import step


def test_step():
    assert jax.jit(step)(2.0)[3] == 6.0
"""
SCRIPT = """
import jax
from my_model import step

print(jax.jit(step)(2.0).sum())
"""
SPEC = "[[corpus]]\nname = 'models'\ntargets = ['{}']\n"
LIBRARY = "[project]\nname = 'my_project'\nversion = '1.0'\n"
# What ends with another status than 0, for the page says that it finds something.
STATUS = {
    "constparity scorecard ": 1,
    "constparity run $(ls broken": 2,
}


LINES = {
    page: [line for block in blocks(page, "sh") for line in lines_of(block) if is_long(line)]
    for page in PAGES
}
TYPED = [pytest.param(lines, id=page.stem) for page, lines in LINES.items() if lines]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A folder for the environments that the pages make, each of which is made once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def project(tmp_path, monkeypatch, cache):
    """Stand in a reader's project, where `python` is this Python and nothing is of the tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XLA_FLAGS")
    others = (find_python.find("0.10.2", up_to=minor).path for minor in (13, 12, 11))
    folders = (str(Path(each).parent) for each in (sys.executable, *others))
    monkeypatch.setenv("PATH", os.pathsep.join([*folders, os.environ["PATH"]]))
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    Path("my_project").mkdir()
    Path("my_project/pyproject.toml").write_text(LIBRARY)
    for name, text in {
        "my_model.py": MODEL,
        "loop.py": excerpt("versions.md", "import jax.numpy as jnp\nfrom jax import lax"),
        "test_model.py": SUITE,
        "train.py": SCRIPT,
        "pyproject.toml": "[project]\nname = 'readers'\nversion = '1.0'\n",
        "nightly.toml": SPEC.format(tmp_path / "my_model.py"),
    }.items():
        Path(name).write_text(text)
    subprocess.run(["git", "init", "-q"], check=True)
    return tmp_path


def here(line, port):
    """A line with what is here in place of a reader's names."""
    for name, thing in {
        "FOLDER": "broken",
        "ENVIRONMENT": str(OTHER),
        "~/jax-0.12": str(OTHER),
        "~/jax-0.10/bin/python": sys.executable,
        "dask scheduler": f"dask scheduler --port {port}",
        "node-1:8786": f"127.0.0.1:{port}",
        "python tests/": f"python {ROOT}/tests/",
        ".venv/bin/python -m": f"cd {ROOT} && {sys.executable} -m",
        "step_81d3ffa934e5.py": "step_*.py",
    }.items():
        line = line.replace(name, thing)
    return line


@contextmanager
def in_the_background(line):
    """Type a line whose command ends when it is ended."""
    process = subprocess.Popen(line, shell=True, start_new_session=True)
    try:
        yield
        assert process.poll() is None, line
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


@pytest.mark.parametrize("lines", TYPED)
def test_each_line_ends_as_the_page_says(lines, project):
    port = free_port()
    with ExitStack() as running:
        for line in (here(each, port) for each in lines):
            if line.startswith("dask "):
                running.enter_context(in_the_background(line))
                continue
            done = subprocess.run(
                ["bash", "-c", line], capture_output=True, text=True, timeout=1500
            )
            expected = next((code for begins, code in STATUS.items() if line.startswith(begins)), 0)
            assert done.returncode == expected, f"{line}\n{done.stdout}{done.stderr}"
