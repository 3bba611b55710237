"""The table of private names: it is complete, it agrees with the installed JAX, and it notices."""

import ast
import collections
import contextvars
import copy
import dataclasses
import enum
import inspect
import itertools
import json
import pkgutil
import re
import subprocess
import sys
import types
import weakref
from pathlib import Path

import jax
import jax.export
import jax.extend.core
import numpy as np
import pytest

from engine.jax_internals import private_names

ROOT = Path(__file__).parents[3]
INTERNALS = ROOT / "engine" / "jax_internals"
TESTERS = ROOT / "parity_tests" / "jax_internals.py"
PRIVATE = ("jax._src", "jaxlib")

# Classes and objects whose attributes are public: the engine may read them without an entry.
PUBLIC = (
    *(str, bytes, dict, list, set, tuple, BaseException, enum.Enum, np.ndarray, np.dtype),
    *(weakref.WeakSet, weakref.WeakKeyDictionary, contextvars.ContextVar, types.FrameType),
    *(inspect.Signature, inspect.Parameter, pytest.__spec__, jax.tree_util.PyTreeDef),
    *(
        types.FrameType,
        jax.Array,
        jax.Device,
        jax.ShapeDtypeStruct,
        jax.core.ShapedArray,
        jax.export.Exported,
    ),
    *(jax.extend.core.ClosedJaxpr, jax.extend.core.Jaxpr, jax.extend.core.JaxprEqn),
    *(jax.extend.core.Literal, jax.extend.core.Primitive, jax.extend.core.Var),
    *(jax.sharding.NamedSharding, jax.sharding.SingleDeviceSharding, jax.sharding.AbstractMesh),
    *(jax.sharding.Mesh, jax.stages.Traced, jax.stages.Lowered, jax.stages.Compiled),
    *(type(jax.devices()[0].default_memory()), jax.experimental.layout.Format),
)


class Source:
    """What the source of folders reads: private dotted names, attributes of objects, strings."""

    def __init__(self, *folders):
        self.dotted, self.called, self.attributes, self.public = set(), set(), set(), set()
        self.strings, self.own, self.subscripts = set(), set(), set()
        for folder in folders:
            for file in [folder] if folder.is_file() else sorted(folder.rglob("*.py")):
                if file.name != "private_names.py":
                    self._read(ast.parse(file.read_text()))

    def _read(self, tree):
        aliases = dict(self._aliases(tree))
        imported = {a.asname or a.name.partition(".")[0] for a in self._imported(tree)}
        inner = set()
        for node in ast.walk(tree):
            if isinstance(node, (ast.Attribute, ast.Name)) and id(node) not in inner:
                root, *path = self._chain(node, inner)
                if root in aliases:
                    # Behind a name such as `__code__` all is Python's.
                    named = list(itertools.takewhile(lambda each: each[:2] != "__", path)) or path
                    self.dotted.add(".".join([aliases[root], *named]))
                elif root == "jax":
                    self.public.add(".".join([root, *path]))
                elif root not in imported:
                    self.attributes.update(path)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                self.strings.add(node.value)
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                self.own.add(node.name)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                self.own.add(node.target.id)
            if isinstance(node, ast.Call):
                root, *path = self._chain(node.func, set())
                if root in aliases:
                    self.called.add(".".join([aliases[root], *path]))
            self._read_more(node)

    def _read_more(self, node):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            if self._chain(node.value, set())[-1] == "params":
                self.subscripts.add(node.slice.value)
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and self._chain(node.value, set()) == ["self"]
        ):
            self.own.add(node.attr)

    @staticmethod
    def _imported(tree):
        for node in ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                yield from node.names

    @staticmethod
    def _aliases(tree):
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PRIVATE):
                for name in node.names:
                    yield name.asname or name.name, f"{node.module}.{name.name}"
            elif isinstance(node, ast.Import):
                for name in node.names:
                    if name.name.startswith(PRIVATE):
                        yield name.asname or name.name, name.name
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                # A module that only some versions have: X: Any = import_module("jax._src.x")
                for part in ast.walk(node.value or node.target):
                    if isinstance(part, ast.Constant) and str(part.value).startswith(PRIVATE):
                        yield node.target.id, part.value

    @staticmethod
    def _chain(node, inner):
        """Return the parts of `a.b.c`, from the root on; the root of an expression is ""."""
        path = []
        while isinstance(node, ast.Attribute):
            path.append(node.attr)
            node = node.value
            inner.add(id(node))
        return [node.id if isinstance(node, ast.Name) else "", *reversed(path)]


@pytest.fixture(scope="module")
def table():
    return private_names.read_table()


@pytest.fixture(scope="module")
def internals():
    return Source(INTERNALS, TESTERS)


@pytest.fixture(scope="module")
def all_source():
    return Source(*(ROOT / name for name in ("engine", "legacy_closedjaxpr", "simplified_consts")))


def entries(table):
    """All entries of all versions: dotted name, and what is expected."""
    for module, names in table["names"].items():
        for path, of_versions in names.items():
            for entry in of_versions if isinstance(of_versions, list) else [of_versions]:
                yield f"{module}.{path}", entry


def missing(table, source):
    """Private names in the source that are not in the table."""
    attributes = collections.defaultdict(set)
    for name, entry in entries(table):
        attributes[name].update(entry.get("attributes", ()))
    modules = set(table["names"])
    found = []
    for dotted in source.dotted:
        parts = dotted.split(".")
        prefixes = [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
        covered = any(
            prefix in attributes and (end == len(parts) or parts[end] in attributes[prefix])
            for end, prefix in enumerate(prefixes, 1)
        )
        if not covered and dotted not in modules:
            found.append(dotted)
    return sorted(found)


def missing_attributes(table, source):
    """Attributes in the source that no public class has, no class of ours, and not the table."""
    known = set(source.own)
    for kind in PUBLIC:
        known.update(name for name in dir(kind) if not name.startswith("_"))
        known.update(name for name in getattr(kind, "__annotations__", ()) if name[0] != "_")
    for name, entry in entries(table):
        known.add(name.rpartition(".")[2])
        known.update(entry.get("attributes", ()))
        known.update(entry.get("fields", ()))
    return sorted(name for name in source.attributes - known if not name.startswith("__"))


def left_over(table, internals, all_source):
    """Names and attributes in the table that the source does not use."""
    dotted = {
        ".".join(parts[:end])
        for parts in (name.split(".") for name in internals.dotted | all_source.public)
        for end in range(1, len(parts) + 1)
    }
    last_parts = {name.rpartition(".")[2] for name in dotted}
    found = []
    for name, entry in entries(table):
        attributes = entry.get("attributes", ())
        used = all_source.attributes | last_parts | internals.strings
        found += [f"{name}.{each}" for each in attributes if each not in used]
        by_other_means = name.rpartition(".")[2] in all_source.attributes | internals.strings
        if not (attributes or name in dotted or by_other_means):
            found.append(name)
    return sorted(found)


def test_the_installed_jax_has_what_the_table_says():
    report = private_names.check()
    assert report.findings == ()
    assert report.jax == jax.__version__
    assert report.looked_at > 150


def test_each_private_name_of_the_source_is_in_the_table(table, internals):
    assert len(internals.dotted) > 100
    assert missing(table, internals) == []


def test_each_attribute_of_a_private_object_is_in_the_table(table, internals):
    assert missing_attributes(table, internals) == []


def test_each_private_name_of_the_tester_is_in_the_table(table):
    names = {text for text in Source(TESTERS).strings if re.fullmatch("_[a-z][a-z_]+", text)}
    assert "_lowerings" in names
    known = {each for _, entry in entries(table) for each in entry.get("attributes", ())}
    assert names <= known.union(name.rpartition(".")[2] for name, _ in entries(table))


def test_each_entry_of_the_table_is_used(table, internals, all_source):
    assert left_over(table, internals, all_source) == []


def test_each_function_that_is_called_has_its_signature_in_the_table(table, internals):
    without = []
    for expected in private_names.expected_names(table, jax.__version_info__):
        if expected.name in internals.called and expected.signature is expected.fields is None:
            signature = private_names.signature_of(pkgutil.resolve_name(expected.name))
            # Python 3.13 writes the second for some classes of jaxlib.
            if signature not in ("", "(*args, **kwargs)"):
                without.append(f"{expected.name}{signature}")
    assert without == []


def test_each_param_that_is_read_is_in_the_table(table, all_source):
    known = {
        name
        for entries in table["params"].values()
        for entry in (entries if isinstance(entries, list) else [entries])
        for name in entry["params"]
    }
    assert all_source.subscripts - known == OF_OTHER_PRIMITIVES


# Params of array operations, which the cost model reads, and of the engine's own primitive.
OF_OTHER_PRIMITIVES = {
    "broadcast_dimensions", "dimension_numbers", "shape", "window_dimensions",
    "arrays", "drop_unused",
}  # fmt: skip


def test_each_primitive_of_the_table_has_a_rule_in_the_engine(table, all_source):
    assert set(table["params"]) <= all_source.strings


# -- planted faults --------------------------------------------------------------------------------


def planted(table, module, path, entry):
    changed = copy.deepcopy(table)
    changed["names"][module][path] = entry
    return changed


def findings(table, name):
    return [
        (each.what, each.text) for each in private_names.check(table).findings if each.name == name
    ]


def test_a_name_that_is_gone_is_found(table):
    changed = planted(table, "jax._src.pjit", "_infer_params_fast", {"signature": "(fun)"})
    assert findings(changed, "jax._src.pjit._infer_params_fast") == [
        ("gone", "JAX has no such name")
    ]
    changed["names"]["jax._src.no_module"] = {"x": {}}
    assert findings(changed, "jax._src.no_module.x") == [("gone", "JAX has no such name")]


def test_a_changed_signature_is_found(table):
    changed = planted(table, "jax._src.pjit", "_infer_params", {"signature": "(fun, args, kwargs)"})
    assert findings(changed, "jax._src.pjit._infer_params") == [
        (
            "changed",
            "takes (fun, ji, args, kwargs), where the engine expects (fun, args, kwargs)",
        )
    ]


def test_new_optional_parameters_extend_a_function(table):
    """`user_frames(traceback)` against a table without its last parameter, and so on."""
    name = "jax._src.core.update_aval_with_sharding"
    changed = planted(
        table, "jax._src.core", "update_aval_with_sharding", {"signature": "(aval, sharding)"}
    )
    assert [what for what, _ in findings(changed, name)] == ["extended"]


@pytest.mark.parametrize(
    ("function", "expected", "what"),
    [
        (lambda a, b=1: 0, "(a)", "extended"),
        (lambda a, *, b=1: 0, "(a)", "extended"),
        (lambda a, *rest, **others: 0, "(a)", "extended"),
        (lambda b=1, a=2: 0, "(a=...)", "changed"),
        (lambda a, b: 0, "(a)", "changed"),
        (lambda a: 0, "(a, b)", "changed"),
        (lambda b, a: 0, "(a, b)", "changed"),
        (lambda *, a: 0, "(a)", "changed"),
        (lambda a=1: 0, "(a)", "changed"),
    ],
)
def test_extended_is_only_what_breaks_no_call(monkeypatch, function, expected, what):
    monkeypatch.setattr(jax, "planted", function, raising=False)
    [found] = private_names.findings_about(private_names.Expected("jax.planted", expected))
    assert found.what == what


def test_lost_and_gained_fields_are_found(table):
    fields = [*table["names"]["jax._src.pjit"]["PjitParams"]["fields"], "planted"]
    changed = planted(table, "jax._src.pjit", "PjitParams", {"fields": fields})
    assert findings(changed, "jax._src.pjit.PjitParams") == [("changed", "lost planted")]
    changed = planted(table, "jax._src.pjit", "PjitParams", {"fields": fields[1:-1]})
    assert findings(changed, "jax._src.pjit.PjitParams") == [("changed", f"gained {fields[0]}")]


def test_a_new_field_with_a_default_extends_a_record(monkeypatch):
    @dataclasses.dataclass
    class Record:
        a: int
        b: int = 0

    monkeypatch.setattr(jax, "planted", Record, raising=False)
    [found] = private_names.findings_about(private_names.Expected("jax.planted", fields=("a",)))
    assert (found.what, found.text) == ("extended", "gained b")


def test_a_lost_attribute_of_instances_is_found(table):
    entry = {"attributes": ["_committed", "_planted"]}
    changed = planted(table, "jax._src.array", "ArrayImpl", entry)
    assert findings(changed, "jax._src.array.ArrayImpl._committed") == []
    assert findings(changed, "jax._src.array.ArrayImpl._planted") == [
        ("gone", "JAX has no such attribute")
    ]


def test_changed_params_are_found(table):
    changed = copy.deepcopy(table)
    changed["params"]["while"] = {"params": ["body_jaxpr", "body_nconsts", "cond", "cond_nconsts"]}
    assert findings(changed, "while") == [("changed", "its params gained cond_jaxpr and lost cond")]


def test_a_version_selects_its_entries(table):
    table = {
        "names": {"m": {"f": [
            {"before": "0.11.1", "signature": "(old)"}, {"since": "0.11.1", "signature": "(new)"},
        ]}},
        "params": {"scan": [{"since": "0.12.0", "params": ["a"]}]},
    }  # fmt: skip

    def at(*version):
        [expected] = private_names.expected_names(table, version)
        return expected.signature, private_names.expected_params(table, version)

    assert at(0, 11, 0) == ("(old)", {})
    assert at(0, 11, 1) == ("(new)", {})
    assert at(0, 12, 0, 1) == ("(new)", {"scan": ("a",)})


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        ("from jax._src import core\nx = core.no_entry.value", "jax._src.core.no_entry.value"),
        ("from jax._src.pjit import no_entry\nx = no_entry", "jax._src.pjit.no_entry"),
        ("from jaxlib import no_entry\nx = no_entry.f()", "jaxlib.no_entry.f"),
        ("import jax._src.pjit as p\nx = p.no_entry", "jax._src.pjit.no_entry"),
    ],
)
def test_a_planted_use_of_a_private_name_is_noticed(tmp_path, table, planted, found):
    (tmp_path / "planted.py").write_text(planted)
    assert missing(table, Source(tmp_path)) == [found]


def test_a_planted_use_of_a_private_attribute_is_noticed(tmp_path, table):
    (tmp_path / "planted.py").write_text("def f(value):\n    return value.sharding, value._planted")
    assert missing_attributes(table, Source(tmp_path)) == ["_planted"]


def test_a_planted_entry_that_nothing_uses_is_noticed(table, internals, all_source):
    changed = planted(table, "jax._src.core", "planted", {})
    changed = planted(changed, "jax._src.core", "Tracer", {"attributes": ["_planted"]})
    assert left_over(changed, internals, all_source) == [
        "jax._src.core.Tracer._planted", "jax._src.core.planted",
    ]  # fmt: skip


# -- a JAX that the engine does not know -----------------------------------------------------------

UNKNOWN = """
import jax
jax.__version__, jax.__version_info__ = "0.99.0", (0, 99, 0)
from jax._src.interpreters import pxla
del pxla.get_dispatch_layouts
"""


def test_the_file_runs_under_a_jax_that_the_engine_refuses(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(UNKNOWN)
    done = subprocess.run(
        [sys.executable, "-P", str(INTERNALS / "private_names.py")],
        env={"PYTHONPATH": str(tmp_path), "PATH": "", "JAX_PLATFORMS": "none"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    report = json.loads(done.stdout)
    assert report["jax"] == "0.99.0"
    # Beside it, what differs between the newest entries and the JAX under the other version.
    gone = [each["name"] for each in report["findings"] if each["what"] == "gone"]
    assert "jax._src.interpreters.pxla.get_dispatch_layouts" in gone
