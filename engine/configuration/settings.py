"""The one flag, and the settings beside it: one object, one place, one parser.

Side selection is read when a function is traced and passed down explicitly after that. The values
live in jaxlib's own configuration objects, so they are part of every cache key of JAX and are never
latched at import.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

from engine import jax_internals
from engine.configuration.parsing import (
    parse_bool,
    parse_bytes,
    parse_deduplicate,
    parse_policy,
    parse_precompute,
)


class Setting:
    """One setting: called with a value it is a thread-local context manager (and a decorator)."""

    def __init__(
        self, name: str, parse: Callable[[Any, str], Any], initial: Any, doc: str, *, traced: bool
    ) -> None:
        self.name = name
        self.variable = f"CONSTPARITY_{name.upper()}"
        self.__doc__ = doc
        self._parse = parse
        from_environment = os.environ.get(self.variable)
        if from_environment:  # empty is unset, as for JAX's variables
            initial = parse(from_environment, f"the environment variable {self.variable}")
        self._state = jax_internals.TracedSetting(
            f"constparity_{name}", initial, in_trace_key=traced
        )

    @property
    def value(self) -> Any:
        """The value in force in this thread."""
        return self._state.value

    def update(self, value: Any) -> None:
        """Change the value of every thread that has not set its own."""
        self._state.set_global(self._parse(value, self.name))

    def __call__(self, value: Any) -> contextlib.AbstractContextManager[None]:
        """Hold the setting at `value` in this thread, within a `with` block."""
        parsed = self._parse(value, self.name)  # at the call, so that a mistake is reported there
        return self._hold(parsed)

    @contextlib.contextmanager
    def _hold(self, value: Any) -> Iterator[None]:
        with self._state.local(value):
            yield

    def __repr__(self) -> str:
        return f"<setting {self.name}={self.value!r}>"


def _jax_flag() -> bool:
    """JAX's environment variable gives the initial value where ours is unset."""
    variable = "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"
    return parse_bool(os.environ.get(variable, "0") or "0", f"the environment variable {variable}")


use_simplified_constants = Setting(
    "use_simplified_constants",
    parse_bool,
    _jax_flag(),
    """Choose the pipeline of functions traced in this thread, within a `with` block.

    Source: the constants note (seed 000), whose flag selects between the same two ways.

    Example::

        with engine.use_simplified_constants(True):
            y = engine.jit(f)(x)

    Raises ValueError, listing the legal values, for anything but a boolean.
    """,
    traced=True,
)

embedded_constants_max_bytes = Setting(
    "embedded_constants_max_bytes",
    parse_bytes,
    jax_internals.jax_embedded_constants_max_bytes(),
    """Size in bytes up to which the simplified pipeline embeds a constant instead of hoisting it.

    Scalars are always embedded. The default is JAX's (32). Source:
    `jax_embedded_constants_max_bytes`.

    Example::

        with engine.embedded_constants_max_bytes(1024):
            lowered = engine.jit(f, constants="simplified").lower(x)

    Raises ValueError for anything but a whole number of bytes, 0 or more.
    """,
    traced=False,  # it decides what is hoisted, not what is traced
)

strict_placement = Setting(
    "strict_placement",
    parse_bool,
    False,
    """Let captured arrays take part in placement as arguments do, with JAX's own errors.

    By default the arguments of a call decide where a simplified program runs, and captured arrays
    follow them. With this on, a captured array that is committed to a device holds the program
    there, one on another device than an argument is an error, and one that is donated, too, is not
    protected: what stock JAX's simplified mode does. The legacy pipeline inlines its constants, so
    they have no placement.

    Example::

        with engine.strict_placement(True):
            engine.jit(f, constants="simplified")(x)

    Raises ValueError for anything but a boolean.
    """,
    traced=False,  # it decides how constants are passed, not what is traced
)

constant_policy = Setting(
    "constant_policy",
    parse_policy,
    None,
    """Decide array by array which captured arrays the simplified pipeline inlines and hoists.

    A policy takes an `engine.CapturedConstant` (`value`, `nbytes`, `shape`, `dtype`, `aval`,
    `captured_at()`) and returns `"hoist"`, `"inline"` (one `stablehlo.constant` in each function
    that uses it), `"embed"` (one for each use, as of arrays up to the embed threshold) or None: the
    embed threshold decides. It is asked once for each captured array of a program that live
    equations use, when the program is lowered, and never for scalars. None, in place of a policy,
    is no policy. The `constant_policy` of `engine.jit` goes before this one.

    A table does, too: a mapping from the type of an array as JAX writes it, from the place of its
    first use, or from both, to such an answer. A place is matched to the end of a path, and the
    most specific key decides: both, then a place, then a type. Equal tables are equal as parts of a
    cache key. In the environment, a table is a JSON object. `constparity tune` proposes one.

    The policy in force when a function is called or traced is the program's: what transformations
    derive from the program has it too, and an inner function has that of the outermost. It is part
    of every cache key, by its hash and equality (a function's are its identity), so keep one object
    rather than write a lambda at each call. The legacy pipeline inlines everything and asks
    nobody, so that one policy can stand while the flag is flipped; so does an export.

    Example::

        def by_size(constant):
            return "inline" if constant.nbytes < 4096 else None

        with engine.constant_policy(by_size):
            engine.jit(f, constants="simplified")(x)

        table = {"float32[1024,1024]": "inline", "float32[1024,1024] model.py:31": "hoist"}
        engine.jit(f, constants="simplified", constant_policy=table)(x)

    Raises ValueError for what is neither hashable and callable nor a table, for a key that cannot
    be read, and, when a program is lowered, for an answer that is none of these.
    """,
    traced=False,  # it decides what is hoisted, not what is traced
)

precompute_constants = Setting(
    "precompute_constants",
    parse_precompute,
    "off",
    """Let the simplified pipeline do work on constants alone once, instead of at every call.

    With `"auto"`, the equations that depend on captured constants alone become a program of their
    own, the preamble, where that is worth it: it runs once, compiled, on the device that the
    function runs on, and its results are const args. `"off"` is the default. The
    `precompute_constants` of `engine.jit` goes before this setting.

    The preamble runs when a program is lowered, never when it is traced, and again for another
    device. The value in force when a function is called or traced is the program's, as that of
    `engine.constant_policy`. The legacy pipeline takes no notice: there XLA computes with constants
    while it compiles. Nor does an export, or lowering for `lowering_platforms`.

    Example::

        with engine.precompute_constants("auto"):
            y = engine.jit(lambda x: x @ jnp.linalg.inv(kernel), constants="simplified")(x)

    Raises ValueError for anything but `"off"` and `"auto"`.
    """,
    traced=False,  # it decides what is hoisted, not what is traced
)

deduplicate_constants = Setting(
    "deduplicate_constants",
    parse_deduplicate,
    False,
    """Let captured arrays of equal value be one const arg, and share one buffer in the process.

    Without it, an array is one const arg by its identity, whatever it holds. `True` compares arrays
    of up to 64 MiB, a number those of up to that many bytes; `False`, the default, none. Equal
    means the same bytes, dtype and shape, and the same placement. The `deduplicate_constants` of
    `engine.jit` goes before this setting. The legacy pipeline takes no notice.

    The cost: when a program is planned, each array is read once and hashed (SHA-256), and one on an
    accelerator is copied to the host for that. Arrays that the user holds stay where they are; what
    is saved is the transfer of NumPy arrays, and whatever XLA does with two equal arguments. The
    first array of a value stands for the others: one that is deleted or donated later is gone for
    all of their programs.

    Example::

        with engine.deduplicate_constants(True):
            lowered = engine.jit(f, constants="simplified").lower(x)

    Raises ValueError for anything but a boolean or a number of bytes, 0 or more.
    """,
    traced=False,  # it decides what is hoisted, not what is traced
)

_SETTINGS = {
    setting.name: setting
    for setting in (
        use_simplified_constants,
        embedded_constants_max_bytes,
        strict_placement,
        constant_policy,
        precompute_constants,
        deduplicate_constants,
    )
}


class Config:
    """The settings of the engine: read as attributes, changed with `update`.

    Example::

        engine.config.update("use_simplified_constants", True)
        assert engine.config.use_simplified_constants is True

    Source: `jax.config`.
    """

    def update(self, name: str, value: Any) -> None:
        """Set `name` to `value` for every thread that has not set its own.

        Raises AttributeError for an unknown name, as `jax.config.update` does, and ValueError,
        listing the legal values, for an illegal value.
        """
        if name not in _SETTINGS:
            raise AttributeError(
                f"unrecognized config option: {name!r}; the options are "
                f"{', '.join(sorted(_SETTINGS))}"
            )
        _SETTINGS[name].update(value)

    def __getattr__(self, name: str) -> Any:
        if name in _SETTINGS:
            return _SETTINGS[name].value
        raise AttributeError(
            f"unrecognized config option: {name!r}; the options are {', '.join(sorted(_SETTINGS))}"
        )

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"use engine.config.update({name!r}, {value!r})")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_SETTINGS]


config = Config()
