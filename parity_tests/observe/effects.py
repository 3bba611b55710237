"""Effects: which Python functions a program calls back, how often, with which values.

JAX's lowering rules for callbacks are registered again, each wrapped so that the function that it
hands to the runtime notes its calls. So jaxprs, caches, dispatch and modules stay as they are, on
every side alike, and a function is told from the one that the user wrote. Patching `jax.debug` and
its neighbours was the alternative; programs import names from there before anybody could patch.

A recording has what ran between its start and its end. The values are copied when a function is
called: JAX may reuse their memory afterwards.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeAlias

import jax
import numpy as np
from jax.interpreters import mlir

from parity_tests.evidence import values
from parity_tests.jax_defaults import jax_defaults
from parity_tests.jax_internals import PrivateNameError, lowering_rules
from parity_tests.jaxpr.source_places import place_in
from parity_tests.observe.calls import without_addresses
from parity_tests.program import source_of
from parity_tests.proof.functions import NOTED
from reports.rows import Check
from reports.rows.calls import Effect, Effects
from reports.rows.check_names import EFFECTS

# The primitives that call Python (jax 0.10.2).
_CALLBACKS = ("pure_callback", "io_callback", "debug_callback")
_PRINT = "debug_print"
_PRINT_SINCE = (0, 7, 2)  # before, `jax.debug.print` is a debug_callback
_MARK = "__constparity_told__"  # of a rule that is wrapped


@dataclass(frozen=True)
class Target:
    """The function that an equation calls back; `static` are arguments that are no arrays."""

    kind: str
    function: str
    place: str
    ordered: bool
    static: str = ""


@dataclass(frozen=True)
class Invocation:
    """One call of a function, with its arguments copied to the host; `show` makes the text."""

    target: Target
    arguments: tuple[np.ndarray[Any, Any], ...]
    show: Callable[[Sequence[Any]], str] | None = None

    def types(self) -> tuple[str, ...]:
        """Return the types of the arguments as text."""
        return tuple(f"{each.dtype}{list(each.shape)}" for each in self.arguments)

    @functools.cached_property
    def digest(self) -> str:
        """The SHA-256 of the arguments."""
        sha = hashlib.sha256(self.target.static.encode())
        for name, array in zip(self.types(), self.arguments, strict=True):
            sha.update(name.encode() + array.tobytes())
        return sha.hexdigest()


@dataclass
class Recording:
    """What was called back within a block, in the order in which it was called."""

    with_values: bool = True  # False: calls are counted, for the price of a step of Python
    counts: Counter[Target] = field(default_factory=Counter)
    _taken: list[tuple[Target, tuple[Any, ...], Any]] = field(default_factory=list)

    @functools.cached_property
    def invocations(self) -> tuple[Invocation, ...]:
        """The calls; read them when the block has ended."""
        return tuple(
            Invocation(target, tuple(_on_host(each) for each in arguments), show)
            for target, arguments, show in self._taken
        )

    def note(self, target: Target, arguments: tuple[Any, ...], show: Any) -> None:
        """Note one call."""
        self.counts[target] += 1
        if self.with_values:
            self._taken.append((target, tuple(_copied(each) for each in arguments), show))


_current: Recording | None = None  # of the process: callbacks run in threads of the runtime


@contextmanager
def recording(*, with_values: bool = True) -> Iterator[Recording]:
    """Record the callbacks of programs that are called within the block, and wait for them.

    Only programs that were lowered after `install()` are seen.

    Example::

        with recording() as effects:
            jax.block_until_ready(compiled(x))
        len(effects.invocations)
    """
    global _current
    found = _current = Recording(with_values)
    try:
        yield found
        jax.effects_barrier()
    finally:
        _current = None


def _copied(value: Any) -> Any:
    # To wait for a value within a callback may be to wait for the thread that runs it. A value that
    # is not there yet is on its way to memory of its own, so it can be read later.
    if isinstance(value, jax.Array) and not value.is_ready():  # type: ignore[attr-defined]
        return value
    return _on_host(value)


@jax_defaults()
def _on_host(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.flags.owndata:
        return value
    if isinstance(value, jax.Array) and jax.dtypes.issubdtype(value.dtype, jax.dtypes.extended):
        value = jax.random.key_data(value)
    return np.array(value)


# -- the seam --------------------------------------------------------------------------------------


def install() -> None:
    """Wrap the lowering rules of callbacks in this process; once, whoever asks for it.

    Raises `PrivateNameError` where JAX has no rule for one of them.
    """
    missing = {*_CALLBACKS, *([_PRINT] if jax.__version_info__ >= _PRINT_SINCE else [])}
    for platform, rules in lowering_rules():
        by_name = {primitive.name: primitive for primitive in rules}
        missing -= by_name.keys()
        for name in (_PRINT, *_CALLBACKS):
            primitive = by_name.get(name)
            if primitive is None or hasattr(rules[primitive].rule, _MARK):
                continue
            entry = rules[primitive]
            if name in _CALLBACKS:
                _register(primitive, _told(entry.rule), platform, entry)
            elif "debug_callback" in by_name:
                rule = rules[by_name["debug_callback"]].rule
                _register(primitive, _told_of_prints(primitive, rule), platform, entry)
    if missing:
        raise PrivateNameError(f"lowering rule of {', '.join(sorted(missing))}")


def _register(primitive: Any, rule: Any, platform: str | None, entry: Any) -> None:
    setattr(rule, _MARK, True)
    mlir.register_lowering(primitive, rule, platform, entry.inline)


def _told(rule: Callable[..., Any]) -> Callable[..., Any]:
    def lower(ctx: Any, *args: Any, callback: Any, **params: Any) -> Any:
        ordered = params.get("ordered", "Ordered" in str(params.get("effect", "")))
        target = _target_of(ctx, callback, bool(ordered))
        return rule(ctx, *args, callback=_telling(callback, target), **params)

    return lower


def _told_of_prints(primitive: Any, rule: Callable[..., Any]) -> Callable[..., Any]:
    """Lower a print with the rule of callbacks, as its own rule does with a function it makes."""

    def lower(ctx: Any, *args: Any, **params: Any) -> Any:
        _, [effect] = primitive.abstract_eval(*ctx.avals_in, **params)
        place = place_in(ctx.traceback)
        target = Target(
            primitive.name,
            params["fmt"],
            f"{place.file}:{place.line}" if place.file else "",
            bool(params["ordered"]),
            _text_of(params.get("static_args")),
        )
        prints = functools.partial(primitive.impl, **params)
        callback = _telling(prints, target, functools.partial(_printed, params))
        return rule(ctx, *args, effect=effect, partitioned=params["partitioned"], callback=callback)

    return lower


def _telling(callback: Any, target: Target, show: Any = None) -> Callable[..., Any]:
    @functools.wraps(callback, assigned=(), updated=())
    def call(*arguments: Any) -> Any:
        if _current is not None:
            _current.note(target, arguments, show)
        return callback(*arguments)

    setattr(call, NOTED, callback)
    return call


def _target_of(ctx: Any, callback: Any, ordered: bool) -> Target:
    function, static = callback, ""
    if hasattr(callback, "callback_func"):
        function = callback.callback_func
    elif inspect.isfunction(callback) and "callback" in callback.__code__.co_freevars:
        held = inspect.getclosurevars(callback).nonlocals
        function = held["callback"]
        static = _text_of(held.get("static_args"))
    place = source_of(function)
    if place.endswith(":0"):  # no function of Python: the line that calls it
        where = place_in(ctx.traceback)
        place = f"{where.file}:{where.line}" if where.file else ""
    name = getattr(_innermost(function), "__qualname__", type(function).__name__)
    return Target(ctx.primitive.name, name.rpartition("<locals>.")[2], place, ordered, static)


def _text_of(static: Any) -> str:
    """Return static arguments as text; "" where there are none."""
    return without_addresses(
        ", ".join(repr(each) for _, each in sorted(dict(static or ()).items()))
    )


def _innermost(function: Any) -> Any:
    return _innermost(function.func) if isinstance(function, functools.partial) else function


def _printed(params: Any, arguments: Sequence[Any]) -> str:
    """Return the line that a print writes, made as JAX makes it."""
    given, static = iter(arguments), dict(params["static_args"])
    count = len(static) + len(arguments)
    merged = [static[n] if n in static else next(given) for n in range(count)]
    args, kwargs = jax.tree.unflatten(params["in_tree"], merged)
    if not params["has_placeholders"]:
        return " ".join((params["fmt"], *map(str, args)))
    with np.printoptions(**dict(params["np_printoptions"])):
        return str(params["fmt"].format(*args, **kwargs))


# -- effects as rows -------------------------------------------------------------------------------

LINES = 8  # of printed text that a row shows
WIDTH = 200
RUNS = 40  # of one function in an order, before the rest is a digest

Kind: TypeAlias = tuple[Target, tuple[str, ...]]
_Grouped: TypeAlias = dict[Kind, list[Invocation]]


def effects(
    first: Recording, compiled: Recording, later: Sequence[Counter[Target]] = ()
) -> Effects:
    """Return the effects of a program: of its first call, the compiled stage and later calls."""
    of_first, of_compiled = _grouped(first.invocations), _grouped(compiled.invocations)
    return Effects(
        found=tuple(
            _row(kind, of_first.get(kind, []), of_compiled.get(kind, []), later)
            for kind in {**of_first, **of_compiled}
        ),
        io_order=_order(first.invocations, ("io_callback",)),
        debug_order=_order(first.invocations, ("debug_callback", "debug_print")),
    )


def _grouped(invocations: Iterable[Invocation]) -> _Grouped:
    found: _Grouped = {}
    for each in invocations:
        found.setdefault((each.target, each.types()), []).append(each)
    return found


def _row(
    kind: Kind,
    first: list[Invocation],
    compiled: list[Invocation],
    later: Sequence[Counter[Target]],
) -> Effect:
    target, types = kind
    first, compiled = _in_order(target, first), _in_order(target, compiled)
    shown = first or compiled
    return Effect(
        kind=target.kind,
        function=target.function,
        place=target.place,
        ordered=target.ordered,
        types=types,
        static=_short(target.static),
        calls=len(first),
        calls_of_compiled=len(compiled),
        later=tuple(each[target] for each in later),
        sha256=_digest(first),
        sha256_of_compiled=_digest(compiled),
        arguments=tuple(_kept(first, number) for number in range(len(types))),
        text=tuple(each.show(each.arguments)[:WIDTH] for each in shown[:LINES] if each.show),
    )


def _short(text: str) -> str:
    if len(text) <= WIDTH:
        return text
    return f"{text[:WIDTH]}, sha256 {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _in_order(target: Target, invocations: list[Invocation]) -> list[Invocation]:
    """Sort the calls of an effect without an order, by value so that rounding hardly moves them."""
    return invocations if target.ordered else sorted(invocations, key=_by_value)


def _by_value(each: Invocation) -> tuple[Any, ...]:
    return (*map(_sortable, each.arguments), each.digest)


def _sortable(array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    head = array.reshape(-1)[:64].astype(complex)
    parts = np.stack([np.isnan(head), np.nan_to_num(head.real), np.nan_to_num(head.imag)], axis=-1)
    return tuple(parts.real.ravel().tolist())


def _digest(invocations: Iterable[Invocation]) -> str:
    return hashlib.sha256(" ".join(each.digest for each in invocations).encode()).hexdigest()


def _kept(invocations: list[Invocation], argument: int) -> Any:
    arrays = [each.arguments[argument] for each in invocations]
    if not arrays:
        return values.keep_in_report(np.zeros(0, np.uint8))
    most = max(1, values.MOST_BYTES // max(1, arrays[0].nbytes))
    return values.keep_in_report(np.stack(arrays[:most]))


def _order(invocations: Iterable[Invocation], kinds: tuple[str, ...]) -> str:
    """Write the ordered effects of some kinds as text, in the order of their calls."""
    targets = [each.target for each in invocations if each.target.kind in kinds]
    return _as_text([named(each.function, each.place) for each in targets if each.ordered])


def _as_text(names: list[str]) -> str:
    runs = [(name, len(list(same))) for name, same in groupby(names)]
    texts = [name if count == 1 else f"{name} {count} times" for name, count in runs]
    if len(texts) <= RUNS:
        return ", ".join(texts)
    rest = hashlib.sha256(", ".join(texts).encode()).hexdigest()[:16]
    return f"{', '.join(texts[:RUNS])} and more, sha256 {rest}"


def named(function: str, place: str) -> str:
    """Name a function with the line that it stands on."""
    return f"{function} ({place})" if place else function


def check(effects: Effects) -> tuple[Check, ...]:
    """Check that the compiled stage has the effects of the first call; none where there are none.

    A program with state of its own fails on every side alike.
    """
    if not effects.found:
        return ()
    apart = [
        f"{named(each.function, each.place)} is called {each.calls} and {each.calls_of_compiled} "
        f"times by the first call and by the compiled stage{_with_other_values(each)}"
        for each in effects.found
        if each.sha256 != each.sha256_of_compiled
    ]
    statement = "; ".join(apart) or "the first call and the compiled stage have the same effects"
    return (Check(name=EFFECTS, holds=not apart, statement=statement),)


def _with_other_values(effect: Effect) -> str:
    return ", with other values" if effect.calls == effect.calls_of_compiled else ""
