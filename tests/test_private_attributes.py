"""Private attributes of JAX's objects are read in two places; a linter sees imports alone.

The engine's place is `engine/jax_internals/`. The tester's is one file, for processes of stock JAX,
which import no engine.
"""

import ast
import collections
import functools
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("engine", "legacy_closedjaxpr", "simplified_consts", "parity_tests", "reports")
PLACES = ("engine/jax_internals/", "parity_tests/jax_internals.py")

# Private names of others: named tuples document theirs, and only by `_io` does execnet tell how a
# worker of pytest-xdist ended, and by `_initializing` importlib that a module is being imported.
OF_OTHERS = {*dir(collections.namedtuple("Empty", ())), "_io", "_initializing"}


def private_reads(root=ROOT):
    """Return file, line and name of each private name that is not ours, and so may be JAX's.

    It is ours in a file that defines it, or that imports from a file of ours that does.
    """
    excepted = (*PLACES, *kept_from_jax())
    found = []
    for file in (each for package in PACKAGES for each in sorted((root / package).rglob("*.py"))):
        place = file.relative_to(root).as_posix()
        if place.startswith(excepted) or not re.search(r"[.'\"]_[a-z]", file.read_text()):
            continue
        files = [file, *filter(Path.exists, imported_files(nodes_of(file), root))]
        ours = OF_OTHERS.union(*(definitions(nodes_of(each)) for each in files))
        reads = private_names(nodes_of(file))
        found += [(place, line, name) for line, name in reads if name not in ours]
    return found


@functools.cache
def nodes_of(file):
    return list(ast.walk(ast.parse(file.read_text())))


def kept_from_jax():
    """Return the folders that hold no object of JAX: a contract keeps them from importing it."""
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    return {
        f"{package.replace('.', '/')}/"
        for contract in tools["importlinter"]["contracts"]
        if "jax" in contract.get("forbidden_modules", ())
        for package in contract["source_modules"]
    }


def definitions(nodes):
    """Yield names of functions, classes and variables, names of slots, and what methods set.

    An object of a class that extends one of JAX's has its own attributes from `__init__` on: what
    another method sets may be JAX's.
    """
    for node in nodes:
        match node:
            case ast.ClassDef(name, bases, _, body):
                yield name
                is_jaxs = any(ast.unparse(base).startswith("jax.") for base in bases)
                for method in body:
                    if not is_jaxs or getattr(method, "name", "") == "__init__":
                        yield from set_by(method)
            case ast.FunctionDef(name):
                yield name
            case ast.Name(name, ast.Store()):
                yield name
            case ast.Assign([ast.Name("__slots__")]):
                yield from (each.value for each in ast.walk(node) if isinstance(each, ast.Constant))


def set_by(method):
    for node in ast.walk(method):
        match node:
            case ast.Attribute(ast.Name("self"), name, ast.Store()):
                yield name


def imported_files(nodes, root):
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            for name in (node.module, *(f"{node.module}.{each.name}" for each in node.names)):
                yield root / f"{name.replace('.', '/')}.py"


def private_names(nodes):
    """Yield line and name of private attributes, and of texts that are the name of one.

    Left out are Python's own modules, which document theirs: `sys._getframe`.
    """
    imports = [each for node in nodes if isinstance(node, ast.Import) for each in node.names]
    pythons = {each.name for each in imports} & sys.stdlib_module_names
    no_names = set()  # each is met before the texts in it
    for node in nodes:
        match node:
            case ast.Attribute(owner, name) if getattr(owner, "id", "") not in pythons:
                yield from named(node, name)
            case ast.Call(_, [ast.Name(owner), text, *_]) if owner in pythons:
                no_names.add(text)
            case ast.JoinedStr([_, *ends]):
                no_names.update(ends)
            case ast.Constant(str(text)) if node not in no_names:
                yield from named(node, text)


def named(node, name):
    if re.fullmatch("_[a-z][a-z_]*", name):
        yield node.lineno, name


def test_private_attributes_of_jax_are_read_in_two_places():
    assert private_reads() == []


def reads_in(root, files):
    for file, text in files.items():
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return private_reads(root)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("lowered._lowering", "_lowering"),
        ("lowered.args_info[0]._aval", "_aval"),
        ("mlir._lowerings.clear()", "_lowerings"),
        ("jitted._jit_info = None", "_jit_info"),
        ('getattr(mlir, "_lowerings", {})', "_lowerings"),
        ('hasattr(type(jax.config), "_read")', "_read"),
        ('vars(jax.config).get("_value_holders")', "_value_holders"),
        ('operator.attrgetter("_params")(compiled)', "_params"),
        ("class Mine(jax.stages.Compiled):\n def call(self): self._params = 1", "_params"),
        ("class Mine(jax.stages.Lowered):\n def text(self): return self._lowering", "_lowering"),
    ],
)
@pytest.mark.parametrize("package", PACKAGES[:-1])
def test_a_planted_read_is_found(tmp_path, package, line, name):
    [(file, _, found)] = reads_in(tmp_path, {f"{package}/planted.py": line})
    assert (file, found) == (f"{package}/planted.py", name)


@pytest.mark.parametrize(
    "line",
    [
        "def _count(): ...\nobject._count",
        "class Mine:\n def count(self): self._count = 1\nMine()._count",
        "class Mine(jax.stages.Compiled):\n __slots__ = ('_count',)\nMine()._count",
        "class Mine(jax.stages.Compiled):\n def __init__(self): self._count = 1\nMine()._count",
        "from engine.planted import Other\nOther()._of_other",
        "import sys\nsys._getframe(), getattr(sys, '_base_executable', None)",
        "named_tuple._replace(field=1)",
        "f'{name}_count'",
    ],
)
def test_a_private_name_of_ours_or_pythons_is_none(tmp_path, line):
    other = "class Other:\n def __init__(self): self._of_other = 1"
    assert reads_in(tmp_path, {"parity_tests/mine.py": line, "engine/planted.py": other}) == []


def test_the_two_places_and_packages_without_jax_may(tmp_path):
    files = ("engine/jax_internals/stages.py", "parity_tests/jax_internals.py", "reports/rows/a.py")
    assert reads_in(tmp_path, dict.fromkeys(files, "lowered._lowering")) == []
