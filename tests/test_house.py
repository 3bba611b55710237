"""The house's rules: arrows only go down, and private JAX names live in one package.

Each rule is checked by its linter or here, and each check is shown to fail on a planted violation.
"""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.util import cache_from_source
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
PACKAGES = ("engine", "legacy_closedjaxpr", "simplified_consts", "parity_tests", "reports")


ENGINE = "arrows only go down"
SIMPLIFIED = "the simplified pipeline is built in layers"
TESTER = "the tester is built in layers"
REPORTS = "the reports are built in layers"
CIRCLES = "no circles"
# Each is a file, the line that is planted in it, and the contract that the line breaks.
IMPORTS = [
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
    ("simplified_consts/lowering.py", "import simplified_consts.const_args", SIMPLIFIED),
    ("parity_tests/program.py", "import parity_tests.targets", TESTER),
    ("parity_tests/jaxpr/counts.py", "import parity_tests.targets", TESTER),
    ("parity_tests/targets.py", "import parity_tests.evidence.values", TESTER),
    ("parity_tests/evidence/values.py", "import parity_tests.judge.sides", TESTER),
    ("parity_tests/judge/sides.py", "import parity_tests.observe.calls", TESTER),
    ("parity_tests/observe/calls.py", "import parity_tests.processes.protocol", TESTER),
    ("parity_tests/processes/protocol.py", "import parity_tests.drift.arbiter", TESTER),
    ("parity_tests/drift/arbiter.py", "import parity_tests.run.run", TESTER),
    ("parity_tests/processes/protocol.py", "import parity_tests.environments.store", TESTER),
    ("parity_tests/environments/store.py", "import parity_tests.run.run", TESTER),
    ("parity_tests/experiments/sweep.py", "import parity_tests.fuzz.recipe", TESTER),
    ("parity_tests/run/run.py", "import parity_tests.fuzz.recipe", TESTER),
    ("parity_tests/run/run.py", "import parity_tests.jobs.facts", TESTER),
    ("parity_tests/lint/uses.py", "import parity_tests.own_jit", TESTER),
    ("parity_tests/lint/uses.py", "import jax", "lint reads programs and never runs them"),
    ("parity_tests/reduce/harness.py", "import parity_tests.cli.app", TESTER),
    ("parity_tests/bench/pool.py", "import parity_tests.worker", TESTER),
    ("parity_tests/worker/jobs.py", "import parity_tests.cli.app", TESTER),
    ("reports/rows/campaign.py", "import reports.views.texts", REPORTS),
    ("reports/views/flip.py", "import reports.output.files", REPORTS),
    ("reports/output/files.py", "import reports.store.writing", REPORTS),
    ("engine/ir/jaxprs.py", "import engine.ir.lifting", CIRCLES),
    ("parity_tests/judge/sides.py", "import parity_tests.judge.verdict", CIRCLES),
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
    ("simplified_consts/const_args.py", "import reports.rows", "engine and the pipelines"),
]
PRIVATE_NAMES = [
    "from jax._src import core",
    "import jax._src.interpreters.mlir",
    "from jaxlib import _jax",
    "from jaxlib import xla_client",
    "from jaxlib.mlir import ir",
]
TOOL = re.compile(r"\$\(BIN\)/([\w-]+)")
FILES = ["engine/stages.py", "simplified_consts/lowering.py", "parity_tests/observe/measure.py"]


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """Copy the source into a new folder, and plant violations in it."""

    def build(*plants):
        folder = tmp_path_factory.mktemp("house")
        for package in PACKAGES:
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / package, folder / package, ignore=ignored)
        shutil.copy(ROOT / "pyproject.toml", folder)
        shutil.copy(ROOT / "README.md", folder)
        for file, line in plants:
            plant(folder / file, line)
        return folder

    return build


def plant(path, line):
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
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--select", "TID251"]
    return subprocess.run(
        [*command, "--output-format", "concise", "."],
        cwd=house,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_imports_keep_the_contracts(house):
    done = lint_imports(house())
    assert done.returncode == 0, done.stdout
    assert "Contracts: 9 kept, 0 broken." in done.stdout


@pytest.fixture(scope="module")
def broken(house):
    """What is said of each contract when all imports are planted at once."""
    done = lint_imports(house(*((file, line) for file, line, _ in IMPORTS)))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Contracts: 0 kept, 9 broken." in done.stdout
    _, contracts = done.stdout.split("Broken contracts\n")
    # The name of each contract is underlined.
    _, *parts = re.split(r"^(.+)\n-+$", contracts, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.parametrize(("file", "line", "contract"), IMPORTS)
def test_a_planted_import_breaks_a_contract(broken, file, line, contract):
    """It does so by itself: it stands alone, not as a part of a way through other modules."""
    module = file.removesuffix(".py").replace("/", ".")
    if contract == CIRCLES:
        told = rf"^No cycles are allowed in {re.escape(module.rpartition('.')[0])}\.$"
    else:
        told = rf"^- +{re.escape(module)} -> {line.split()[1]}[\w.]* \(l\.\d+\)\n\n"
    [said] = [said for name, said in broken.items() if name.startswith(contract)]
    assert re.search(told, said, re.MULTILINE), said


def test_private_names_live_in_one_package(house):
    folder = house()
    assert ruff(folder).returncode == 0
    assert "from jax._src" in (folder / "engine" / "jax_internals" / "hooks.py").read_text()


def test_planted_private_names_are_found(house):
    folder = house(*((file, line) for file in FILES for line in PRIVATE_NAMES))
    done = ruff(folder)
    assert done.returncode == 1
    found = re.findall(r"^(\S+):(\d+):\d+: TID251", done.stdout, re.MULTILINE)
    lines = {(file, (folder / file).read_text().splitlines()[int(at) - 1]) for file, at in found}
    assert lines == {(file, line) for file in FILES for line in PRIVATE_NAMES}


def left_out_of_the_wheel(root, data):
    """Files of the packages that are no Python and that no pattern of package-data takes."""
    for package in PACKAGES:
        taken = {
            file for pattern in data.get(package, ()) for file in (root / package).glob(pattern)
        }
        for file in (root / package).rglob("*"):
            is_source = file.suffix in (".py", ".pyc") or file.is_dir()
            if not is_source and file not in taken:
                yield str(file.relative_to(root))


def test_the_wheel_has_all_data_of_the_packages(tmp_path):
    """`make dist-check` holds the wheel itself to the files that git tracks."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert list(left_out_of_the_wheel(ROOT, settings["package-data"])) == []
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "planted.toml").touch()
    assert list(left_out_of_the_wheel(tmp_path, {"engine": ["*.md"]})) == ["engine/planted.toml"]


def undescribed_targets(makefile):
    """Targets that a user calls and `make help` leaves out."""
    phony = makefile.partition(".PHONY:")[2].replace("\\\n", " ").partition("\n")[0].split()
    told = re.findall(r"^([a-z-]+):.*  ## \S", makefile, re.MULTILINE)
    return set(phony) - set(told)


def test_make_help_has_each_target():
    makefile = (ROOT / "Makefile").read_text()
    assert undescribed_targets(makefile) == {"report-here"}  # which `report` calls
    assert undescribed_targets(".PHONY: a b \\\n  c\n\na: b  ## text\nb:\nc:\n") == {"b", "c"}
    done = subprocess.run(["make", "-s"], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert "\ndist-check         install the wheel on each Python" in done.stdout, done.stderr


def test_the_commit_hook_is_make_lint_and_its_tools_are_pinned():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    [hook] = [hook for repo in hooks["repos"] for hook in repo["hooks"]]
    assert hook["entry"].split() == ["make", "--silent", "lint"]
    lint = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    tools = {"import-linter" if each == "lint-imports" else each for each in TOOL.findall(lint)}
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    pins = {re.match(r"[\w-]+", each)[0]: each for each in extras["dev"]}
    assert {tool for tool in tools if "==" not in pins.get(tool, "")} == set()
    assert {"ruff", "mypy", "import-linter"} <= tools


def test_each_change_is_in_the_changelog():
    """A fragment whose name towncrier does not know would be left out of it silently."""
    fragments = [file.name for file in (ROOT / "docs" / "changelog").iterdir()]
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]
    kinds = "|".join(kind["directory"] for kind in settings["type"])
    assert [name for name in fragments if not re.fullmatch(rf"\+[\w-]+\.({kinds})\.md", name)] == []


def modules_after(statement):
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{statement}\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return set(done.stdout.split())


def test_what_processes_import_is_compiled_once_for_all_tests():
    """Whatever PYTHONDONTWRITEBYTECODE says, which the tests leave as it is."""
    for package in PACKAGES:
        for file in (ROOT / package).rglob("*.py"):
            assert Path(cache_from_source(str(file))).exists(), file


def test_importing_the_engine_needs_jax_and_numpy_alone():
    """The engine is a library for others' programs: it brings no command line and no reports."""
    foreign = {"typer", "rich", "pydantic", "jinja2", "reports", "parity_tests", "click"}
    # What few programs need, and what JAX itself imports when it is first used.
    late = {"engine.export", "engine.serialize_executable", "engine.artifacts", "jax.extend"}
    late |= {"jax._src.pallas.core", "jax._src.checkify"}

    both = "engine.api.pipeline_of('legacy'), engine.api.pipeline_of('simplified')"
    assert modules_after(f"import engine; {both}") & (foreign | late) == set()
    asked_for = modules_after("import engine, reports.rows; engine.export; import jax.extend")
    assert asked_for & (foreign | late) == {  # it can fail
        *("reports", "pydantic"),
        *late - {"engine.serialize_executable"},
    }


def test_the_pipelines_mirror_each_other():
    legacy, simplified = (
        {file.name for file in (ROOT / package).glob("*.py")}
        for package in ("legacy_closedjaxpr", "simplified_consts")
    )
    assert legacy == simplified


def imported_by(path):
    """Return the modules that a file may import, as `from a import b` says that b may be one."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def used_by_one_side(house):
    users = {".".join(p.relative_to(house).with_suffix("").parts): set() for p in files(house)}
    for package in PACKAGES[:3]:
        for path in (house / package).rglob("*.py"):
            for module in set(imported_by(path)).intersection(users):
                users[module].add(package)
    return {m for m, by in users.items() if len(by) == 1 and "engine" not in by}


def files(house):
    return (house / "engine").rglob("*.py")


def test_what_one_side_alone_uses_is_in_its_folder(house):
    assert used_by_one_side(ROOT) == set()
    planted = house(("simplified_consts/lowering.py", "from engine.ir import planted"))
    (planted / "engine" / "ir" / "planted.py").touch()
    assert used_by_one_side(planted) == {"engine.ir.planted"}


def asking_for_the_side(house):
    sides = {"legacy", "simplified"}
    return {
        str(path.relative_to(house))
        for path in files(house)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Compare)
        and any(getattr(each, "value", None) in sides for each in (node.left, *node.comparators))
    }


def test_the_engine_asks_for_the_side_where_it_finds_the_pipeline(house):
    assert asking_for_the_side(ROOT) == {"engine/api.py"}
    line = "asks = lambda p: p.side == 'simplified'"
    planted = house(("engine/runtime/lowering.py", line))
    assert asking_for_the_side(planted) == {"engine/api.py", "engine/runtime/lowering.py"}
