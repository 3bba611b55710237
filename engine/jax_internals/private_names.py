"""Hold the table of JAX's private names against an installed JAX, before anything runs.

`private_names.toml` is the table. This file imports nothing of the engine, which refuses a JAX that
it was not run against. Any Python with a JAX can run the file, and gets the report as JSON:

    python -P engine/jax_internals/private_names.py

It only looks at names, signatures and the params of traced programs. No program is run.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import json
import pkgutil
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_suffix(".toml")

Version = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Expected:
    """One private name, as the table has it for one version of JAX.

    - `signature`: the parameters of a function, as `signature_of` writes them; None where the
      engine does not call it, or where it is not written in Python.
    - `fields`: the fields of a NamedTuple or dataclass; None for others.
    - `attributes`: the attributes that the engine reads of it, or of its instances.
    """

    name: str
    signature: str | None = None
    fields: tuple[str, ...] | None = None
    attributes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Finding:
    """A difference between the table and a JAX.

    `what` is "gone", "changed", or "extended", which breaks no call: each new parameter or field is
    optional.
    """

    name: str
    what: str
    text: str


@dataclasses.dataclass(frozen=True)
class Report:
    """All findings about one JAX, and how many names and primitives were looked at."""

    jax: str
    looked_at: int
    findings: tuple[Finding, ...]


def check(table: Mapping[str, Any] | None = None) -> Report:
    """Hold the table against the installed JAX."""
    import jax

    table = read_table() if table is None else table
    names = expected_names(table, jax.__version_info__)
    params = expected_params(table, jax.__version_info__)
    found = [finding for each in names for finding in findings_about(each)]
    found += [finding for name in params for finding in findings_about_params(name, params[name])]
    return Report(jax.__version__, len(names) + len(params), tuple(found))


# -- the table -------------------------------------------------------------------------------------


def read_table() -> dict[str, Any]:
    """Read the table: `names` by module, and `params` by primitive."""
    return tomllib.loads(TABLE.read_text("utf-8"))


def expected_names(table: Mapping[str, Any], version: Version) -> list[Expected]:
    """Return the names that a version of JAX has, with the module first."""
    return [
        Expected(
            f"{module}.{path}",
            entry.get("signature"),
            tuple(entry["fields"]) if "fields" in entry else None,
            tuple(entry.get("attributes", ())),
        )
        for module, names in table["names"].items()
        for path, entries in names.items()
        for entry in _of_version(entries, version)
    ]


def expected_params(table: Mapping[str, Any], version: Version) -> dict[str, tuple[str, ...]]:
    """Return the names of the params of each primitive in a version of JAX."""
    return {
        primitive: tuple(entry["params"])
        for primitive, entries in table["params"].items()
        for entry in _of_version(entries, version)
    }


def _of_version(entries: Any, version: Version) -> Iterator[Mapping[str, Any]]:
    """Select the entries of a version: from `since` on, and below `before`."""
    for entry in entries if isinstance(entries, list) else [entries]:
        since, before = (_parse(entry.get(bound)) for bound in ("since", "before"))
        if (since is None or since <= version) and (before is None or version < before):
            yield entry


def _parse(version: str | None) -> Version | None:
    return None if version is None else tuple(map(int, version.split(".")))


# -- names -----------------------------------------------------------------------------------------


def findings_about(expected: Expected) -> list[Finding]:
    """Compare one name with the installed JAX."""
    try:
        found = pkgutil.resolve_name(expected.name)
    except (ImportError, AttributeError):
        return [Finding(expected.name, "gone", "JAX has no such name")]
    findings = [
        Finding(f"{expected.name}.{attribute}", "gone", "JAX has no such attribute")
        for attribute in expected.attributes
        if not has_attribute(found, attribute)
    ]
    if expected.signature is not None:
        findings += _compare(expected.name, expected.signature, found)
    if expected.fields is not None:
        findings += _compare_fields(expected.name, expected.fields, found)
    return findings


class _Default:
    def __repr__(self) -> str:
        return "..."


def signature_of(function: Any) -> str:
    """Write names, kinds and defaults of parameters; "" where Python cannot tell them.

    Example::

        signature_of(sorted) == "(iterable, /, *, key=..., reverse=...)"
    """
    parameters = _parameters_of(function)
    return "" if parameters is None else _written(parameters)


_ANYTHING = [inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD]


def _parameters_of(function: Any) -> list[inspect.Parameter] | None:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # not callable, or not written in Python
        return None
    # Since Python 3.13, this stands for what is not written in Python and has no signature.
    says_nothing = [each.kind for each in parameters] == _ANYTHING
    return None if says_nothing and not inspect.isfunction(function) else parameters


def _written(parameters: Sequence[inspect.Parameter]) -> str:
    default, empty = _Default(), inspect.Parameter.empty
    plain = [
        each.replace(annotation=empty, default=empty if each.default is empty else default)
        for each in parameters
    ]
    return str(inspect.Signature(plain))


def _compare(name: str, expected: str, function: Any) -> list[Finding]:
    found = signature_of(function)
    if found == expected:
        return []
    extended = _takes_more(_parameters_of(function) or (), expected)
    text = f"takes {found or 'unknown parameters'}, where the engine expects {expected}"
    return [Finding(name, "extended" if extended else "changed", text)]


def _takes_more(parameters: Sequence[inspect.Parameter], expected: str) -> bool:
    """Say whether all that is new is optional, and moves no parameter to another position."""
    known = {each.strip(" ()*").partition("=")[0] for each in expected.split(",")}
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    for place, each in enumerate(parameters):
        if each.name in known:
            continue
        later = [other for other in parameters[place:] if other.kind in positional]
        moves = each.kind in positional and any(other.name in known for other in later)
        if moves or (each.default is each.empty and each.kind not in variadic):
            return False
    return _written([each for each in parameters if each.name in known]) == expected


def fields_of(kind: Any) -> dict[str, bool] | None:
    """Return the fields of a NamedTuple or dataclass, and whether each has a default."""
    if hasattr(kind, "_fields"):
        return {name: name in kind._field_defaults for name in kind._fields}
    if not dataclasses.is_dataclass(kind):
        return None
    missing = dataclasses.MISSING
    return {
        field.name: field.default is not missing or field.default_factory is not missing
        for field in dataclasses.fields(kind)
    }


def _compare_fields(name: str, expected: Sequence[str], kind: Any) -> list[Finding]:
    found = fields_of(kind)
    if found is None:
        return [Finding(name, "changed", "is neither a NamedTuple nor a dataclass any more")]
    if tuple(found) == tuple(expected):
        return []
    without = [field for field in found if field in expected or not found[field]]
    extended = without == list(expected)
    return [Finding(name, "extended" if extended else "changed", _gains(expected, found))]


def _gains(expected: Sequence[str], found: Sequence[str] | Mapping[str, Any]) -> str:
    gained = [each for each in found if each not in expected]
    lost = [each for each in expected if each not in found]
    parts = [
        f"{verb} {', '.join(each)}" for verb, each in (("gained", gained), ("lost", lost)) if each
    ]
    return " and ".join(parts) or "has its fields in another order"


def has_attribute(found: Any, name: str) -> bool:
    """Say whether an object has an attribute; for a class, also whether its instances have it."""
    if hasattr(found, name):
        return True
    return isinstance(found, type) and any(name in _set_by(each) for each in found.__mro__)


@functools.cache
def _set_by(kind: type) -> frozenset[str]:
    """Return the names that a class annotates, has slots for, or sets in its methods."""
    names = {*vars(kind).get("__annotations__", ())}
    slots = vars(kind).get("__slots__", ())
    names.update([slots] if isinstance(slots, str) else slots)
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError):  # not written in Python
        return frozenset(names)
    names.update(
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )
    return frozenset(names)


# -- params of primitives --------------------------------------------------------------------------


def findings_about_params(primitive: str, expected: Sequence[str]) -> list[Finding]:
    """Trace a program that has a primitive, and compare the names of its params."""
    try:
        found = params_of(primitive)
    except (AttributeError, TypeError, ValueError) as error:
        text = f"a program that has it is not traced ({type(error).__name__}: {error})"
        return [Finding(primitive, "changed", text)]
    if found is None:
        return [Finding(primitive, "gone", "a program that had it is traced without it")]
    # The order of params has no meaning.
    if set(found) == set(expected):
        return []
    return [Finding(primitive, "changed", f"its params {_gains(expected, found)}")]


def params_of(primitive: str) -> tuple[str, ...] | None:
    """Return the names of the params of a primitive; None where it is not traced."""
    import jax

    program = _programs()[primitive]
    for eqn in jax.make_jaxpr(program)(1.0).eqns:
        if eqn.primitive.name == primitive:
            return tuple(sorted(eqn.params))
    return None


def _programs() -> dict[str, Callable[[Any], Any]]:
    """Return a program for each primitive, written with public names only."""
    import jax
    from jax.sharding import AbstractMesh, PartitionSpec

    def double(x: Any) -> Any:
        return x * 2

    def step(carry: Any, _: Any) -> tuple[Any, None]:
        return carry * 2, None

    custom_jvp, custom_vjp = jax.custom_jvp(double), jax.custom_vjp(double)
    custom_jvp.defjvp(lambda x, t: (double(*x), double(*t)))
    custom_vjp.defvjp(lambda x: (double(x), None), lambda _, t: (double(t),))
    custom_vmap = jax.custom_batching.custom_vmap(double)
    custom_vmap.def_vmap(lambda size, batched, x: (double(x), *batched))
    everywhere = PartitionSpec()
    return {
        "jit": jax.jit(double),
        "scan": lambda x: jax.lax.scan(step, x, length=2),
        "while": lambda x: jax.lax.while_loop(lambda c: c < 2, double, x),
        "cond": lambda x: jax.lax.cond(x < 2, double, double, x),
        "remat2": jax.checkpoint(double),
        "custom_jvp_call": custom_jvp,
        "custom_vjp_call": custom_vjp,
        "custom_linear_solve": lambda x: jax.lax.custom_linear_solve(
            double, x, lambda _, b: b / 2, symmetric=True
        ),
        "composite": jax.lax.composite(double, "constparity.double"),
        "custom_vmap_call": custom_vmap,
        "shard_map": jax.shard_map(
            double, mesh=AbstractMesh((1,), ("x",)), in_specs=everywhere, out_specs=everywhere
        ),
    }


if __name__ == "__main__":
    json.dump(dataclasses.asdict(check()), sys.stdout)
