"""The flag and the settings beside it: each is one object with one parser.

The flag is read when a function is traced, and the side is passed down explicitly after that. The
values live in jaxlib's configuration objects, so they are part of every cache key of JAX and never
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
    """One setting; a call with a value returns a context manager and decorator for this thread."""

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
        parsed = self._parse(value, self.name)  # now: the block may be entered far from a mistake
        return self._hold(parsed)

    @contextlib.contextmanager
    def _hold(self, value: Any) -> Iterator[None]:
        with self._state.local(value):
            yield

    def __repr__(self) -> str:
        return f"<setting {self.name}={self.value!r}>"


class FollowingSetting(Setting):
    """A setting with the value of one of JAX's until it is set; None lets it follow JAX again."""

    def __init__(
        self, name: str, parse: Callable[[Any, str], Any], jax_value: Callable[[], Any], doc: str
    ) -> None:
        def parse_or_none(value: Any, what: str) -> Any:
            return None if value is None else parse(value, what)

        super().__init__(name, parse_or_none, None, doc, traced=False)
        self._jax_value = jax_value

    @property
    def value(self) -> Any:
        """The value in force in this thread."""
        own = self._state.value
        return self._jax_value() if own is None else own


def _jax_flag() -> bool:
    """Read JAX's environment variable: the flag's initial value where ours is unset."""
    variable = "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"
    return parse_bool(os.environ.get(variable, "0") or "0", f"the environment variable {variable}")


use_simplified_constants = Setting(
    "use_simplified_constants",
    parse_bool,
    _jax_flag(),
    """Choose the pipeline of functions traced in this thread, within a `with` block.

    Raises ValueError, listing the legal values, for anything but a boolean.

    Example::

        with engine.use_simplified_constants(True):
            y = engine.jit(f)(x)

    Source: JAX's note "Handling of closed-over constants"; its flag selects between the same two
    ways.
    """,
    traced=True,
)

embedded_constants_max_bytes = FollowingSetting(
    "embedded_constants_max_bytes",
    parse_bytes,
    jax_internals.jax_embedded_constants_max_bytes,
    """Size in bytes up to which the simplified pipeline embeds a constant instead of hoisting it.

    Scalars are always embedded. Until this is set, the value of JAX's setting is in force (32),
    also where that changes. None lets it be in force again.

    Raises ValueError for anything but None or a whole number of bytes, 0 or more.

    Example::

        with engine.embedded_constants_max_bytes(1024):
            lowered = engine.jit(f, constants="simplified").lower(x)

    Source: `jax_embedded_constants_max_bytes`.
    """,
)

strict_placement = Setting(
    "strict_placement",
    parse_bool,
    False,
    """Let captured arrays take part in placement as arguments do, with JAX's own errors.

    By default the arguments of a call decide where a simplified program runs, and captured arrays
    follow them. With this on, the pipeline does as stock JAX's simplified mode: a captured array
    that is committed to a device holds the program there, a captured array on another device than
    an argument is an error, and a captured array that is also donated is not protected. The legacy
    pipeline inlines its constants, so they have no placement.

    Raises ValueError for anything but a boolean.

    Example::

        with engine.strict_placement(True):
            engine.jit(f, constants="simplified")(x)
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
    that uses it), `"embed"` (one for each use, as for arrays up to the embed threshold) or None:
    the embed threshold decides. It is asked when a program is lowered, once for each captured array
    that live equations use, and never for scalars. None instead of a policy means no policy. The
    `constant_policy` of `engine.jit` goes before this setting.

    A policy may also be a table: a mapping to such an answer from the type of an array as JAX
    writes it, from the place of its first use, or from both. A place is matched to the end of a
    path. The most specific key decides: both, then a place, then a type. Equal tables are equal in
    a cache key. In the environment, a table is a JSON object. `constparity tune` proposes one.

    A program keeps the policy in force when its function was called or traced. Programs that
    transformations derive from it have the same policy, and an inner function has the policy of the
    outermost. The policy is part of every cache key, by its hash and equality (a function's are its
    identity), so keep one object rather than write a lambda at each call. The legacy pipeline and
    plain exports inline everything and ask no policy, so one policy can stay while the flag is
    flipped.

    Raises ValueError for a value that is neither hashable and callable nor a table, for a key that
    cannot be read, and, when a program is lowered, for any other answer.

    Example::

        def by_size(constant):
            return "inline" if constant.nbytes < 4096 else None

        with engine.constant_policy(by_size):
            engine.jit(f, constants="simplified")(x)

        table = {"float32[1024,1024]": "inline", "float32[1024,1024] model.py:31": "hoist"}
        engine.jit(f, constants="simplified", constant_policy=table)(x)
    """,
    traced=False,  # it decides what is hoisted, not what is traced
)

precompute_constants = Setting(
    "precompute_constants",
    parse_precompute,
    "off",
    """Let the simplified pipeline do work on constants alone once, instead of at every call.

    With `"auto"`, the equations that depend on captured constants alone become a program of their
    own, the preamble, where that is worth it. The preamble runs once, compiled, on the device that
    the function runs on, and its results are const args. `"off"` is the default. The
    `precompute_constants` of `engine.jit` goes before this setting.

    The preamble runs when a program is lowered, never when it is traced, and again for another
    device. A program keeps the value in force when its function was called or traced, as with
    `engine.constant_policy`. The legacy pipeline has no preamble: XLA computes with constants while
    it compiles. Nor have an export, and lowering for `lowering_platforms`.

    Raises ValueError for anything but `"off"` and `"auto"`.

    Example::

        with engine.precompute_constants("auto"):
            y = engine.jit(lambda x: x @ jnp.linalg.inv(kernel), constants="simplified")(x)
    """,
    traced=False,  # it decides what is hoisted, not what is traced
)

deduplicate_constants = Setting(
    "deduplicate_constants",
    parse_deduplicate,
    False,
    """Let captured arrays of equal value be one const arg, and share one buffer in the process.

    By default (`False`) each array is one const arg, told apart by identity. `True` compares the
    values of arrays of up to 64 MiB, a number the values of arrays of up to that many bytes. Equal
    means the same bytes, dtype, shape and placement. The `deduplicate_constants` of `engine.jit`
    goes before this setting. The legacy pipeline ignores it.

    The cost: when a program is planned, each array is read once and hashed (SHA-256); an array on
    an accelerator is copied to the host for that. The gain: NumPy arrays are transferred once, and
    XLA gets one argument instead of two equal ones. Arrays that the user holds stay where they are.
    The first array of a value stands for the others, so where the user deletes or donates it, it is
    gone for all of their programs.

    Raises ValueError for anything but a boolean or a number of bytes, 0 or more.

    Example::

        with engine.deduplicate_constants(True):
            lowered = engine.jit(f, constants="simplified").lower(x)
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
