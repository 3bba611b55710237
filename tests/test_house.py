"""The house's rules: arrows only go down, and private JAX names live in one package.

Each rule is checked by its linter, and each check is shown to fail on a planted violation.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("engine", "legacy_closedjaxpr", "simplified_consts", "parity_tests", "reports")


ENGINE = "arrows only go down"
SIMPLIFIED = "the simplified pipeline is built in layers"
TESTER = "the tester is built in layers"
REPORTS = "the reports are built in layers"


@pytest.fixture
def house(tmp_path):
    """A copy of the source that a violation can be planted in."""
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copy(ROOT / "README.md", tmp_path)
    return tmp_path


def plant(house, file, line):
    path = house / file
    head, future, tail = path.read_text().partition("from __future__ import annotations\n")
    path.write_text(f"{head}{future}{line}\n{tail}" if future else f"{head}\n{line}\n")


def lint_imports(house):
    # The contracts are those of the copy: its own packages come first on the path.
    script = (
        "import sys; sys.path.insert(0, '.');"
        "from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    )
    return subprocess.run(
        [sys.executable, "-c", script], cwd=house, capture_output=True, text=True, timeout=120
    )


def ruff(house):
    return subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--no-cache", "--select", "TID251", "."],
        cwd=house,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_imports_keep_the_contracts(house):
    done = lint_imports(house)
    assert done.returncode == 0, done.stdout
    assert "Contracts: 9 kept, 0 broken." in done.stdout


@pytest.mark.parametrize(
    ("file", "line", "broken"),
    [
        ("engine/stages.py", "import parity_tests.program", ENGINE),
        ("engine/jax_internals/names.py", "import legacy_closedjaxpr.lowering", ENGINE),
        ("engine/jax_internals/names.py", "import engine.configuration.parsing", ENGINE),
        ("engine/configuration/settings.py", "import engine.ir.jaxprs", ENGINE),
        ("engine/ir/jaxprs.py", "import engine.pipeline", ENGINE),
        ("engine/pipeline.py", "import simplified_consts.preamble.extraction", ENGINE),
        ("engine/pipeline.py", "import engine.runtime.execution", ENGINE),
        ("engine/runtime/lowering.py", "import engine.stages", ENGINE),
        ("engine/artifacts/reader.py", "import engine.runtime.execution", ENGINE),
        ("engine/stages.py", "import engine.api", ENGINE),
        ("engine/stages.py", "import legacy_closedjaxpr.pipeline", ENGINE),
        ("simplified_consts/hoisting/liveness.py", "import simplified_consts.lowering", SIMPLIFIED),
        (
            "simplified_consts/preamble/profitability.py",
            "import simplified_consts.lowering",
            SIMPLIFIED,
        ),
        ("simplified_consts/lowering.py", "import simplified_consts.execution", SIMPLIFIED),
        ("parity_tests/program.py", "import parity_tests.targets", TESTER),
        ("parity_tests/jaxpr/counts.py", "import parity_tests.targets", TESTER),
        ("parity_tests/targets.py", "import parity_tests.evidence.values", TESTER),
        ("parity_tests/evidence/values.py", "import parity_tests.judge.sides", TESTER),
        ("parity_tests/judge/sides.py", "import parity_tests.observe.calls", TESTER),
        ("parity_tests/observe/calls.py", "import parity_tests.processes.protocol", TESTER),
        ("parity_tests/processes/protocol.py", "import parity_tests.drift.arbiter", TESTER),
        ("parity_tests/drift/arbiter.py", "import parity_tests.campaign.run", TESTER),
        ("parity_tests/processes/protocol.py", "import parity_tests.environments.store", TESTER),
        ("parity_tests/environments/store.py", "import parity_tests.campaign.run", TESTER),
        ("parity_tests/experiments/sweep.py", "import parity_tests.reduce.draft", TESTER),
        ("parity_tests/campaign/run.py", "import parity_tests.fuzz.recipe", TESTER),
        ("parity_tests/campaign/run.py", "import parity_tests.jobs.facts", TESTER),
        ("parity_tests/lint/uses.py", "import parity_tests.own_jit", TESTER),
        ("parity_tests/lint/uses.py", "import jax", "lint reads programs and never runs them"),
        ("parity_tests/reduce/harness.py", "import parity_tests.cli.app", TESTER),
        ("parity_tests/bench/pool.py", "import parity_tests.worker", TESTER),
        ("parity_tests/worker/jobs.py", "import parity_tests.cli.app", TESTER),
        ("reports/rows/campaign.py", "import reports.views.texts", REPORTS),
        ("reports/views/flip.py", "import reports.output.files", REPORTS),
        ("reports/output/files.py", "import reports.store.writing", REPORTS),
        ("engine/ir/jaxprs.py", "import engine.ir.lifting", "no circles"),
        ("parity_tests/judge/sides.py", "import parity_tests.judge.judgement", "no circles"),
        (
            "legacy_closedjaxpr/lowering.py",
            "import simplified_consts.lowering",
            "the two pipelines never import each other",
        ),
        (
            "simplified_consts/tracing.py",
            "from legacy_closedjaxpr import tracing",
            "the two pipelines never import each other",
        ),
        ("reports/views/flip.py", "from engine import jaxprs", "reports knows rows only"),
        ("reports/views/flip.py", "import jax", "reports knows rows only"),
        (
            "engine/configuration/settings.py",
            "import typer",
            "engine and the pipelines import neither",
        ),
        ("simplified_consts/execution.py", "import reports.rows", "engine and the pipelines"),
    ],
)
def test_a_planted_import_breaks_a_contract(house, file, line, broken):
    plant(house, file, line)
    done = lint_imports(house)
    assert done.returncode == 1, done.stdout + done.stderr
    assert any(broken in row and "BROKEN" in row for row in done.stdout.splitlines()), done.stdout


def test_private_names_live_in_one_package(house):
    assert ruff(house).returncode == 0
    assert "from jax._src" in (house / "engine" / "jax_internals" / "hooks.py").read_text()


@pytest.mark.parametrize(
    "line",
    [
        "from jax._src import core",
        "import jax._src.interpreters.mlir",
        "from jaxlib import _jax",
        "from jaxlib import xla_client",
        "from jaxlib.mlir import ir",
    ],
)
@pytest.mark.parametrize(
    "file", ["engine/stages.py", "simplified_consts/lowering.py", "parity_tests/observe/measure.py"]
)
def test_a_planted_private_name_is_found(house, file, line):
    plant(house, file, line)
    done = ruff(house)
    assert done.returncode == 1
    assert "TID251" in done.stdout
    assert Path(file).name in done.stdout


def test_importing_the_engine_needs_jax_and_numpy_alone():
    """The engine is a library for others' programs: it brings no command line and no reports."""
    foreign = {"typer", "rich", "pydantic", "jinja2", "reports", "parity_tests", "click"}

    def imported_by(statement):
        script = (
            f"import sys\n{statement}\nprint(*sorted({{m.split('.')[0] for m in sys.modules}}))"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
        )
        return foreign & set(done.stdout.split())

    both = "engine.api.pipeline_of('legacy'), engine.api.pipeline_of('simplified')"
    assert imported_by(f"import engine; {both}") == set()
    assert imported_by("import engine, reports") == {"reports", "pydantic"}  # it can fail


def test_the_pipelines_mirror_each_other():
    legacy, simplified = (
        {file.name for file in (ROOT / package).glob("*.py")}
        for package in ("legacy_closedjaxpr", "simplified_consts")
    )
    assert legacy == simplified
