"""The commands of docs/use/examples.md, and of the README, print what these say.

They run in this process, and those of SLOW in processes of their own, as all do in `make deep`.
"""

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import write_notebooks
from doc_blocks import FEW_PLUGINS, blocks, commands_in, says

from parity_tests.cli import app

FOLDER = write_notebooks.FOLDER
PAGE = (FOLDER.parent / "use" / "examples.md").read_text("utf-8")
SLOW = ("constparity bisect ", "constparity reduce ")
SHOWN = [*blocks("examples.md", "console"), *blocks("../README.md", "console")]
BLOCKS = [pytest.param(each, id=each[0][0]) for each in map(commands_in, SHOWN)]
PYTHON = blocks("../README.md", "python")
FILES = {name[1]: each for each in PYTHON if (name := re.match(r"# (\w+\.py)\n", each))}


def is_slow(block):
    """Whether the first command of a block takes many runs."""
    return block.values[0][0][0].startswith(SLOW)


@pytest.mark.parametrize(
    ("said", "printed", "is_same"),
    [
        ("took 1.2 s, 4 sites\n", "took 34 s, 4 sites\n", True),
        ("took 1.2 s, 4 sites\n", "took 1.2 s, 5 sites\n", False),
        ("took 12 ms\n", "took nothing\n", False),
        ("accuracy about 0.59\n", "accuracy about 0.6\n", True),
        ("accuracy 0.59\n", "accuracy 0.6\n", False),
        ("a\n…\nb … d\n", "a\nx\ny\nb c d\n", True),
        ("a\n…\nb … d\n", "a\nb c\nd\n", False),
        ("a\n…\nb\n", "a\nb\nc\n", False),
    ],
)
def test_times_and_what_is_left_out_may_vary_and_nothing_else(said, printed, is_same):
    assert says(said, printed) == is_same


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A copy of the examples and of the README's files, in which commands leave what they write."""
    copy = tmp_path_factory.mktemp("docs") / "examples"
    shutil.copytree(FOLDER, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for name, block in FILES.items():
        (copy / name).write_text(block)
    return copy


@pytest.fixture
def inside(folder, monkeypatch):
    """Stand in the copy, where `python` is this Python and a terminal is as wide as the page's."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", FEW_PLUGINS)


def run_here(command):
    """Run a command in this process, but for pytest, and return its exit status."""
    name, *words = shlex.split(command)
    if name == "pytest":
        return subprocess.run([name, *words], check=False, timeout=120).returncode
    if name == "constparity":
        return app.main(words)
    assert name == "python"
    runpy.run_path(words[0], run_name="__main__")
    return 0


@pytest.mark.parametrize("commands", [each for each in BLOCKS if not is_slow(each)])
def test_commands_print_what_the_page_says(commands, inside, capfd):
    for command, said, status in commands:
        ended = run_here(command)
        printed = capfd.readouterr().out
        assert says(said, printed), printed
        assert ended == status


@pytest.mark.parametrize(
    "commands",
    [
        pytest.param(*each.values, id=each.id, marks=() if is_slow(each) else pytest.mark.deep)
        for each in BLOCKS
    ],
)
def test_they_do_so_in_processes_of_their_own(commands, inside):
    for command, said, status in commands:
        done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=900)
        assert says(said, done.stdout), done.stdout + done.stderr
        assert done.returncode == status


def test_the_engine_does_what_the_readme_says(inside):
    [code] = [each for each in PYTHON if each not in FILES.values()]
    *_, last = code.splitlines()
    expression, _, said = last.partition("  # ")
    script = f"{code}print({expression})"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == said.partition(":")[0] == "2"


def test_every_example_is_on_the_page():
    scripts = {each.name for each in FOLDER.glob("*.py")}
    assert set(re.findall(r"^```\{literalinclude\} \.\./examples/(.+)$", PAGE, re.M)) == scripts
    commands = " ".join(command for block in BLOCKS for command, *_ in block.values[0])
    assert {each for each in scripts if each in commands} == scripts
    notebooks = {each.name for each in FOLDER.glob("*.ipynb")}
    assert set(re.findall(r"\(\.\./examples/(\w+\.ipynb)\)", PAGE)) == notebooks
    assert {each.name for each in FOLDER.iterdir() if each.is_file()} == scripts | notebooks
