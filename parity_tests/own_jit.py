"""A program's own jit: its options, and example arguments as these options take them.

A target that is jitted already keeps its options on every side: static and donated arguments,
shardings, and what else `jax.jit` takes. JAX has no public way to read them off a jitted function.

A wrapper of a library that ends in `jax.jit`, such as `flax.nnx.jit`, has its options where nobody
else finds them. It is called as it is, within a jit of the side, and is given as Python values what
its own jit may want as such. What its jit donates is found in the trace
(`parity_tests.jaxpr.donating_jits`).
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from parity_tests.jax_defaults import jax_defaults
from parity_tests.jax_internals import attribute, context_mesh, has_executable, jit_info


def is_jitted(fun: Any) -> bool:
    """Say whether `jax.jit` or `engine.jit` returned this function."""
    return isinstance(fun, jitted_type())


@functools.cache
def jitted_type() -> type:
    """Return the type of what `jax.jit` returns; to be asked before a program may replace it."""
    import jax  # here, because a command that measures nothing starts without it

    return type(jax.jit(lambda: None))


def is_wrapper(fun: Any) -> bool:
    """Say whether an object is jitted by a library: it has the stages of a jitted function.

    Example::

        is_wrapper(flax.nnx.jit(f)) and is_wrapper(equinox.filter_jit(f))
    """
    return hasattr(type(fun), "lower") and hasattr(fun, "__wrapped__") and not is_jitted(fun)


def unjitted(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Python function under a jitted one, and any other function unchanged."""
    return fun.__wrapped__ if is_jitted(fun) else fun  # type: ignore[attr-defined]


@dataclass(frozen=True)
class OwnJit:
    """A function that is not jitted, its example arguments, and its own options of `jax.jit`.

    `is_own` says that the program is jitted as it is written, and by `jax.jit` itself; `was_called`
    that it has been called before, so that JAX has an executable of it; `info` is JAX's record.
    """

    fun: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    is_own: bool = False
    was_called: bool = False
    info: Any = None

    @classmethod
    def of(cls, fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> OwnJit:
        """Take a function off its `jax.jit`, if it has one, and off what binds arguments to it."""
        under = _without_bindings(fun, args, kwargs)
        if is_jitted(under[0]):
            jitted, args, kwargs = under
            options, called = options_of(jitted), has_executable(jitted)
            own = unjitted(jitted), args, kwargs, options
            return cls(*own, is_own=True, was_called=called, info=jit_info(jitted))
        if is_wrapper(under[0]):
            return cls(*_of_arrays_alone(*under))
        return cls(fun if _is_hashable(fun) else _calling(fun), args, kwargs)

    def of_arrays_alone(self) -> OwnJit | None:
        """Return the function of its arrays alone; None where all arguments are arrays.

        What is no array is given as the Python value that it is. A jit within the function may want
        it so: JAX traces no static argument.
        """
        if self.is_own or all(map(_is_array, _leaves((self.args, self.kwargs)))):
            return None
        return OwnJit(*_of_arrays_alone(self.fun, self.args, self.kwargs))

    def fresh(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return all arguments, with copies of the donated ones: a call consumes them."""
        args = tuple(
            copied(each) if self._is(number, "donate_argnums") else each
            for number, each in enumerate(self.args)
        )
        donated = self.options.get("donate_argnames", ())
        kwargs = {name: copied(v) if name in donated else v for name, v in self.kwargs.items()}
        return args, kwargs

    def fresh_dynamic(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a compiled stage, as `fresh`.

        Such a stage takes no static ones, and moves none to the sharding that its jit states.
        """
        return self._moved(*self._without_static(*self.fresh()))

    def leaves(self) -> list[tuple[Any, Any]]:
        """Return the leaves of the dynamic arguments, each with the sharding that the jit states.

        The sharding is None where the jit leaves it open.
        """
        args, kwargs = self._without_static(self.args, self.kwargs)
        found: list[tuple[Any, Any]] = []

        def add(sharding: Any, part: Any) -> None:
            found.extend((leaf, sharding) for leaf in _leaves(part))

        self._for_each_sharding(add, args)
        add(None, kwargs)
        return found

    @functools.cached_property
    def dynamic(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments without the static ones, where the shardings of the jit put them."""
        return self._moved(*self._without_static(self.args, self.kwargs))

    @property
    def donates(self) -> bool:
        """Whether any argument is donated."""
        return bool(self.options.get("donate_argnums") or self.options.get("donate_argnames"))

    @functools.cached_property
    def bound(self) -> Callable[..., Any]:
        """The function of the dynamic arguments alone; the function itself if all are dynamic."""
        if not (self.options.get("static_argnums") or self.options.get("static_argnames")):
            return self.fun

        @functools.wraps(self.fun)
        def bound(*args: Any, **kwargs: Any) -> Any:
            given = iter(args)
            merged = [
                each if self._is(number, "static_argnums") else next(given)
                for number, each in enumerate(self.args)
            ]
            static = {name: v for name, v in self.kwargs.items() if self._is_static_name(name)}
            return self.fun(*merged, *given, **static, **kwargs)

        return bound

    def _without_static(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        dynamic = tuple(v for n, v in enumerate(args) if not self._is(n, "static_argnums"))
        return dynamic, {n: v for n, v in kwargs.items() if not self._is_static_name(n)}

    @jax_defaults()
    def _moved(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Move committed arrays to the shardings that the jit states, as its calls do."""
        import jax

        def moved(leaf: Any, sharding: Any) -> Any:
            if not isinstance(leaf, jax.Array) or not leaf.committed:
                return leaf
            is_there = leaf.sharding.is_equivalent_to(sharding, leaf.ndim)
            return leaf if is_there else jax.device_put(leaf, sharding)

        def all_moved(sharding: Any, part: Any) -> Any:
            return part if sharding is None else jax.tree.map(lambda x: moved(x, sharding), part)

        return self._for_each_sharding(all_moved, args), kwargs

    def _for_each_sharding(self, do: Callable[[Any, Any], Any], args: Any) -> Any:
        """Map each sharding that the jit states, None among them, and its part of arguments.

        A partition spec is of the mesh in context.
        """
        import jax
        from jax.sharding import NamedSharding, PartitionSpec

        mesh = context_mesh()

        def placed(stated: Any, part: Any) -> Any:
            sharding = sharding_in(stated)
            if isinstance(sharding, PartitionSpec):
                sharding = NamedSharding(mesh, sharding) if mesh and not mesh.empty else None
            return do(sharding, part)

        return jax.tree.map(
            placed,
            self.options.get("in_shardings"),
            args,
            is_leaf=lambda each: each is None or isinstance(each, PartitionSpec),
        )

    def _is(self, number: int, option: str) -> bool:
        numbers = self.options.get(option, ())
        return number in numbers or number - len(self.args) in numbers

    def _is_static_name(self, name: str) -> bool:
        return name in self.options.get("static_argnames", ())


def _without_bindings(
    fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Take off a function what binds arguments to it: partials, methods, objects that are called.

    A call of `partial(jitted, table)` passes the table as an argument, which captures nothing.
    """
    while not (is_jitted(fun) or is_wrapper(fun)):
        of_class = inspect.getattr_static(type(fun), "__call__", None)
        if isinstance(fun, functools.partial):
            fun, args, kwargs = fun.func, (*fun.args, *args), {**fun.keywords, **kwargs}
        elif isinstance(fun, types.MethodType):
            fun, args = fun.__func__, (fun.__self__, *args)
        elif is_jitted(of_class) or is_wrapper(of_class):
            fun, args = of_class, (fun, *args)
        else:
            break
    return fun, args, kwargs


def _of_arrays_alone(
    fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    """Return a function of the arrays in the arguments, and these arrays.

    An argument without arrays is bound, one of arrays alone is left as it is, and any other becomes
    a tuple of its arrays. The function returns beside its result the arrays that it has put into
    its arguments: `flax.nnx.jit` updates a model in place. Results that JAX does not take are left
    out.
    """
    import jax

    leaves, tree = jax.tree.flatten((args, kwargs))

    @functools.wraps(fun)
    def call(*arrays: Any, **named: Any) -> Any:
        given = iter(jax.tree.leaves((arrays, named)))
        merged = [next(given) if _is_array(leaf) else leaf for leaf in leaves]
        all_args, all_kwargs = jax.tree.unflatten(tree, merged)
        result = jax.tree.map(
            lambda leaf: leaf if _is_value(leaf) else None, fun(*all_args, **all_kwargs)
        )
        known = set(map(id, merged))
        after = jax.tree.leaves((all_args, all_kwargs))
        updated = [leaf for leaf in after if _is_array(leaf) and id(leaf) not in known]
        return (result, updated) if updated else result

    return (
        call,
        tuple(_arrays_in(each) for each in args if any(map(_is_array, _leaves(each)))),
        {name: _arrays_in(v) for name, v in kwargs.items() if any(map(_is_array, _leaves(v)))},
    )


def _arrays_in(value: Any) -> Any:
    arrays = tuple(filter(_is_array, _leaves(value)))
    return value if len(arrays) == len(_leaves(value)) else arrays


def _is_hashable(fun: Callable[..., Any]) -> bool:
    try:
        hash(fun)
    except TypeError:
        return False
    return True


def _calling(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls an object; `jax.jit` takes no object without a hash."""

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        return fun(*args, **kwargs)

    return call


def _leaves(value: Any) -> list[Any]:
    import jax

    return jax.tree.leaves(value)


def _is_array(leaf: Any) -> bool:
    import jax
    import numpy as np

    return isinstance(leaf, (jax.Array, np.ndarray, np.generic))


def _is_value(leaf: Any) -> bool:
    return _is_array(leaf) or isinstance(leaf, (bool, int, float, complex))


def jits_held_by(fun: Any) -> list[Any]:
    """Return the jitted functions that a function names: in its closure, or in its module.

    Of an object that is called, they are those among the attributes that its `__call__` names.
    What has the stages of a jitted function is one, such as a `jax.pmap`. JAX's own are left out.
    """
    if _is_staged(fun):
        return [fun]
    called = called_function(fun)
    if not isinstance(called, types.FunctionType):
        return []
    names = called.__code__.co_names
    held = [*_in_closure(called), *map(called.__globals__.get, names)]
    if called is not fun:
        held += map(getattr(fun, "__dict__", {}).get, names)
    return [each for each in held if _is_staged(each) and not _is_of_jax(each)]


def called_function(fun: Any) -> Any:
    """Return what a call of a function or an object runs: the function, or the type's `__call__`.

    Example::

        called_function(model) is type(model).__call__
    """
    return fun if inspect.isroutine(fun) else type(fun).__call__


def _is_staged(fun: Any) -> bool:
    return callable(getattr(fun, "lower", None)) and hasattr(fun, "__wrapped__")


def _is_of_jax(jitted: Any) -> bool:
    return str(getattr(jitted, "__module__", "")).partition(".")[0] == "jax"


def _in_closure(fun: types.FunctionType) -> Iterator[Any]:
    for cell in fun.__closure__ or ():
        with contextlib.suppress(ValueError):  # nothing is in it yet
            yield cell.cell_contents


@jax_defaults()
def copied(value: Any) -> Any:
    """Copy the arrays of JAX in an argument; calls leave those of NumPy alone."""
    import jax

    copies = jax.tree.map(lambda leaf: leaf.copy() if isinstance(leaf, jax.Array) else leaf, value)
    return jax.block_until_ready(copies)


def options_of(jitted: Any) -> dict[str, Any]:
    """Return the keywords of `jax.jit` that a jitted function was made with.

    Example::

        options_of(jax.jit(f, donate_argnums=0)) == {"donate_argnums": (0,), ...}

    Raises `PrivateNameError` where JAX has these options elsewhere.
    """
    info = jit_info(jitted)
    return {} if info is None else options_in(info)


def options_in(info: Any) -> dict[str, Any]:
    """Return the keywords of `jax.jit` in JAX's record of them. Raises `PrivateNameError`."""
    found = {name: attribute(info, name) for name in _PLAIN}
    found["in_shardings"] = _shardings(info, "in")
    found["out_shardings"] = _shardings(info, "out")
    found["compiler_options"] = dict(attribute(info, "compiler_options_kvs"))
    if getattr(found["inline"], "value", None) == "auto":  # JAX 0.12, where nobody says
        del found["inline"]
    return {name: value for name, value in found.items() if _is_given(value)}


_PLAIN = (
    "static_argnums",
    "static_argnames",
    "donate_argnums",
    "donate_argnames",
    "keep_unused",
    "inline",
    "device",
    "backend",
)


def _is_given(value: Any) -> bool:
    is_empty = type(value) in (tuple, dict) and not value  # a partition spec of no axes is none
    return value is not None and value is not False and not is_empty


def _shardings(info: Any, end: str) -> Any:
    """Return the shardings at one end, in a `Format` where a layout is beside; None if none are."""
    import jax
    from jax.experimental.layout import Format

    leaves = attribute(info, f"{end}_shardings_leaves")
    layouts = attribute(info, f"{end}_layouts_leaves")
    given = [None if type(leaf).__name__ == "UnspecifiedValue" else leaf for leaf in leaves]
    if any(layout is not None for layout in layouts):
        pairs = zip(layouts, given, strict=True)
        given = [Format(*each) if each[0] is not None else each[1] for each in pairs]
    if all(leaf is None for leaf in given):
        return None
    return jax.tree.unflatten(attribute(info, f"{end}_shardings_treedef"), given)


def sharding_in(stated: Any) -> Any:
    """Return the sharding that an option of `jax.jit` states, of a `Format` beside a layout.

    Example::

        sharding_in(Format(layout, sharding)) is sharding_in(sharding)
    """
    return getattr(stated, "sharding", stated)
