"""A program's own `jax.jit`: its options, and example arguments as these options take them.

A target that is jitted already keeps its options on every side: static and donated arguments,
shardings, and what else `jax.jit` takes. JAX has no public way to read them off a jitted function;
`_jit_info` is an attribute of that function (jax 0.10.2). Without it there are no options.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from parity_tests.jax_defaults import jax_defaults


def is_jitted(fun: Callable[..., Any]) -> bool:
    """Say whether `jax.jit` or `engine.jit` returned this function."""
    return all(hasattr(fun, name) for name in ("trace", "lower", "__wrapped__"))


def unjitted(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Python function under a jitted one, and any other function unchanged."""
    return fun.__wrapped__ if is_jitted(fun) else fun  # type: ignore[attr-defined]


@dataclass(frozen=True)
class OwnJit:
    """A function that is not jitted, its example arguments, and its own options of `jax.jit`."""

    fun: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> OwnJit:
        """Take a function off its `jax.jit`, if it has one."""
        return cls(unjitted(fun), args, kwargs, options_of(fun) if is_jitted(fun) else {})

    def fresh(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return all arguments, with copies of the donated ones: a call consumes them."""
        args = tuple(
            _copied(each) if self._is(number, "donate_argnums") else each
            for number, each in enumerate(self.args)
        )
        donated = self.options.get("donate_argnames", ())
        kwargs = {name: _copied(v) if name in donated else v for name, v in self.kwargs.items()}
        return args, kwargs

    def fresh_dynamic(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a compiled stage, which takes no static ones, as `fresh`."""
        return self._without_static(*self.fresh())

    @functools.cached_property
    def dynamic(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments without the static ones."""
        return self._without_static(self.args, self.kwargs)

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
        return (
            tuple(v for n, v in enumerate(args) if not self._is(n, "static_argnums")),
            {name: v for name, v in kwargs.items() if not self._is_static_name(name)},
        )

    def _is(self, number: int, option: str) -> bool:
        numbers = self.options.get(option, ())
        return number in numbers or number - len(self.args) in numbers

    def _is_static_name(self, name: str) -> bool:
        return name in self.options.get("static_argnames", ())


@jax_defaults()
def _copied(value: Any) -> Any:
    """Copy the arrays of JAX in an argument; calls leave those of NumPy alone."""
    import jax  # here, because a command that measures nothing starts without it

    copies = jax.tree.map(lambda leaf: leaf.copy() if isinstance(leaf, jax.Array) else leaf, value)
    return jax.block_until_ready(copies)


def options_of(jitted: Any) -> dict[str, Any]:
    """Return the keywords of `jax.jit` that a jitted function was made with.

    Example::

        options_of(jax.jit(f, donate_argnums=0)) == {"donate_argnums": (0,), ...}
    """
    info = getattr(jitted, "_jit_info", None)
    found = {name: getattr(info, name, None) for name in _PLAIN}
    found["in_shardings"] = _shardings(info, "in")
    found["out_shardings"] = _shardings(info, "out")
    found["compiler_options"] = dict(getattr(info, "compiler_options_kvs", ()))
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
    return value is not None and value is not False and value != () and value != {}


def _shardings(info: Any, end: str) -> Any:
    """Return the shardings at one end; None where there are none, or layouts beside them."""
    import jax

    leaves = getattr(info, f"{end}_shardings_leaves", ())
    layouts = getattr(info, f"{end}_layouts_leaves", ())
    given = [None if type(leaf).__name__ == "UnspecifiedValue" else leaf for leaf in leaves]
    if all(leaf is None for leaf in given) or any(layout is not None for layout in layouts):
        return None
    return jax.tree.unflatten(getattr(info, f"{end}_shardings_treedef"), given)
