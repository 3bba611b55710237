"""The shell of the guides, typed: suites, environments of JAX, clusters, searches.

What takes long is typed by `make deep`, and what is quick again; test_shell_blocks.py types that
with rows that are made up. The blocks of a page are typed in their order, in one project. A
reader's names stand for what is here: `node-1` for this machine, `~/jax-0.12` for the checkout's
environment, the host of JAX for a repository with two files of tests, and SLURM for a queue with
room for one job.
"""

import os
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import jax
import pytest
from doc_blocks import (
    FEW_PLUGINS,
    PAGES,
    ROOT,
    blocks,
    excerpt,
    is_deep,
    is_left_out,
    is_long,
    lines_of,
)
from test_shell_blocks import MODEL

from parity_tests.environments import find_python, making, store
from tests.helpers.relays import free_port

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
MANY = """
from parity_tests import program
from my_model import WEIGHTS

for number in range(8):

    @program(name=f"step{number}", args=(2.0,))
    def step(x, number=number):
        return x * WEIGHTS + number

    globals()[f"step{number}"] = step
del step
"""
SPEC = "[[corpus]]\nname = 'models'\ntargets = ['{}']\n"
LIBRARY = "[project]\nname = 'my_project'\nversion = '1.0'\n"
TESTS_OF_JAX = {
    "host/jax/build/test-requirements.txt": "pytest\n",
    "host/jax/jax/_src/only_in_the_repository.py": "",
    "host/jax/tests/api_test.py": SUITE,
    "host/jax/tests/aot_test.py": SUITE,
    "host/jax/tests/my_model.py": MODEL,
}
SLURM = {
    "sbatch": """#!/bin/bash
cd "$(dirname "$0")"
if mkdir started 2>&-; then setsid bash "$1" > log 2>&1 & echo $! > started/pid; fi
echo "Submitted batch job 7"
""",
    "scancel": """#!/bin/bash
cd "$(dirname "$0")"
if mkdir ended 2>&-; then kill -- -"$(cat started/pid)"; fi
""",
}
# What ends with another status than 0, for the page says that it finds something.
STATUS = {
    "constparity scorecard ": 1,
    "constparity run $(ls broken": 2,
    # What the libraries used is gone.
    "pytest broken ": 1 if jax.__version_info__ >= (0, 11) else 0,
}


# Without the parity job's page, whose own test takes its steps.
LINES = {
    page: [
        line for block in blocks(page, "sh") for line in lines_of(block) if not is_left_out(line)
    ]
    for page in PAGES
    if page.parent.name != "parity_job"
}
EACH = [pytest.param(page.stem, lines, id=page.stem) for page, lines in LINES.items() if lines]
# Of two pages with one line the first.
PAGE_OF = {
    line: page.stem
    for page, lines in reversed(LINES.items())
    for line in lines
    if is_long(line) and not is_deep(line)
}
# What a reader of a page has, by the fixture that makes it.
HAS = {"jax_tests": "repository_of_jax", "history": "results", "guide-ci": "results"}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Stand in a reader's project, where `python` is this Python and nothing is of the tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XLA_FLAGS")
    others = (find_python.find("0.10.2", up_to=minor).path for minor in (13, 12, 11))
    folders = (str(Path(each).parent) for each in (sys.executable, *others))
    monkeypatch.setenv("PATH", os.pathsep.join([*folders, os.environ["PATH"]]))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTEST_ADDOPTS", FEW_PLUGINS)
    Path("my_project").mkdir()
    Path("my_project/pyproject.toml").write_text(LIBRARY)
    for name, text in {
        "my_model.py": MODEL,
        "loop.py": excerpt("versions.md", "import jax.numpy as jnp\nfrom jax import lax"),
        "test_model.py": SUITE,
        "many.py": MANY,
        "my_package/my_model.py": MODEL,
        "src/my_model.py": MODEL,
        "train.py": SCRIPT,
        "pyproject.toml": "[project]\nname = 'readers'\nversion = '1.0'\n",
        "nightly.toml": SPEC.format(tmp_path / "many.py"),
    }.items():
        write(tmp_path / name, text)
    run("git init -q")
    return tmp_path


def write(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.fixture
def results(project):
    """Keep a result, and a store with two runs, in the project."""
    for _ in range(2):
        run("constparity run my_model.py --store runs.db --report json:result.json")


@pytest.fixture
def repository_of_jax(project, monkeypatch):
    """Have git find JAX's repository here; a copy of JAX takes the files that its wheel lacks."""
    for name, text in TESTS_OF_JAX.items():
        write(project / name, text)
    for name in ("tests/scripts/jax_tests.py", "docs/jax_tests.toml", "docs/trust/jax_tests.md"):
        write(project / name, (ROOT / name).read_text())
    shutil.copytree(Path(jax.__file__).parent, "jax")
    run(
        "cd host/jax && git init -q && git add . && git -c user.name=a -c user.email=a@b commit "
        "-qm tests && git tag jax-v0.10.2"
    )
    Path("gitconfig").write_text(f'[url "{project}/host"]\ninsteadOf = https://github.com/jax-ml\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(project / "gitconfig"))


def here(line, port):
    """The lines that are typed for one: with what is here in place of a reader's names.

    Where a page shows the third job of eight, all jobs run. A campaign that has run begins anew.
    """
    jobs = range(1, 9) if "--shard 3/8" in line else [3]
    for name, thing in {
        "FOLDER": "broken",
        "ENVIRONMENT": str(OTHER),
        "~/jax-0.12": str(OTHER),
        "~/jax-0.10/bin/python": sys.executable,
        "dask scheduler": f"dask scheduler --port {port}",
        "node-1:8786": f"127.0.0.1:{port}",
        "python tests/helpers/": f"python {ROOT}/tests/helpers/",
        "python tests/scripts/ecosystem": f"python {ROOT}/tests/scripts/ecosystem",
        ".venv/bin/python -m": f"cd {ROOT} && {sys.executable} -m",
        "step_81d3ffa934e5.py": "step_*.py",
        "--scheduler tcp": "--anew --scheduler tcp",
    }.items():
        line = line.replace(name, thing)
    return [line.replace(" 3/8 ", f" {n}/8 ").replace(" 3.db", f" {n}.db") for n in jobs]


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


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A folder for the environments that the pages make, each of which is made once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def environments(project, monkeypatch):
    """Have the environment that a page makes: that of this Python by another name."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(project / "cache"))
    plan = making.planned("0.12.0.1")
    plan.path.mkdir(parents=True)
    for name in ("bin", "lib", "pyvenv.cfg"):
        (plan.path / name).symlink_to(Path(sys.prefix, name))
    store.finish(
        store.Environment(
            path=plan.path, requested=plan.requested, jax="0.12.0.1", jaxlib="0.12.0.1",
            python_version="3.13.0", with_=(), packages=(), made=datetime.now(UTC),
        )
    )  # fmt: skip


@pytest.mark.parametrize("page", dict.fromkeys(PAGE_OF.values()))
@pytest.mark.usefixtures("environments")
def test_what_takes_seconds_ends_as_the_page_says(page, request):
    type_lines(page, [line for line in PAGE_OF if PAGE_OF[line] == page], request)


@pytest.mark.deep
@pytest.mark.parametrize(("page", "lines"), EACH)
@pytest.mark.usefixtures("project")
def test_each_line_ends_as_the_page_says(page, lines, request, cache, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    type_lines(page, lines, request)


def type_lines(page, lines, request):
    if page in HAS:
        request.getfixturevalue(HAS[page])
    port = free_port()
    with ExitStack() as running:
        for line in (typed for each in lines for typed in here(each, port)):
            if line.startswith("dask "):
                running.enter_context(in_the_background(line))
            else:
                expected = (code for begins, code in STATUS.items() if line.startswith(begins))
                run(line, expected=next(expected, 0))


def run(line, *, expected=0):
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True, timeout=3000
    )
    assert done.returncode == expected, f"{line}\n{done.stdout}{done.stderr}"


@pytest.fixture
def slurm(project, monkeypatch):
    """Have a queue of jobs with room for one: the others wait."""
    monkeypatch.setenv("PATH", f"{project}/slurm{os.pathsep}{os.environ['PATH']}")
    for name, text in SLURM.items():
        write(project / "slurm" / name, text)
        (project / "slurm" / name).chmod(0o755)
    return project / "slurm"


@pytest.mark.deep
def test_a_campaign_runs_on_a_cluster_of_slurm(slurm):
    """The script starts the cluster, says what is typed, and ends it at Enter."""
    [block] = blocks("guide-campaigns.md", "python")
    with subprocess.Popen(
        [sys.executable, "-c", block], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as script:
        said = ""
        while not said.endswith("; Enter ends the cluster"):
            said += script.stdout.read(1)
            assert script.poll() is None, said
        run(f"constparity campaign nightly.toml {said.partition(';')[0]}")
        run("constparity campaign nightly.toml --list safe | grep -c step | grep -x 8")
        script.communicate("\n", 60)
    assert (script.returncode, (slurm / "started").exists()) == (0, True)
