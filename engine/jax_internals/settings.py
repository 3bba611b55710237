"""The engine's settings as JAX's Config objects, and JAX's settings as keys of our tables."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Hashable
from typing import Any

from jax._src import config
from jax._src.lib import _jax as _jaxlib


class TracedSetting(_jaxlib.config.Config):
    """A setting with a global and a thread-local value that is part of JAX's cache keys.

    It is a Config object of jaxlib (jax 0.10.2), so after a change the C++ fast path misses, and
    so do JAX's trace caches where `in_trace_key` is set. After a change of a `threading.local` the
    fast path would answer with the old program, because it never asks Python.
    """

    def __init__(self, name: str, default: Any, *, in_trace_key: bool) -> None:
        super().__init__(
            name, default, include_in_jit_key=True, include_in_trace_context=in_trace_key
        )

    def local(self, value: Any) -> contextlib.AbstractContextManager[None]:
        """Hold the setting at `value` in this thread, within one `with` block."""
        return _Held(self, value)


class _Held:
    """The context manager of `TracedSetting.local`; a generator would be several times slower."""

    __slots__ = ("_previous", "_setting", "_value")

    def __init__(self, setting: TracedSetting, value: Any) -> None:
        self._setting, self._value = setting, value

    def __enter__(self) -> None:
        self._previous = self._setting.swap_local(self._value)

    def __exit__(self, *_: Any) -> None:
        self._setting.set_local(self._previous)


def jax_embedded_constants_max_bytes() -> int:
    """Return JAX's own embed threshold, in bytes."""
    return config.embedded_constants_max_bytes.value


def jax_flag_in_lowering(simplified: bool) -> contextlib.AbstractContextManager[None]:
    """Set JAX's own flag in this thread while JAX lowers Literals of arrays, which it then finds.

    A JAX without the flag always does. Tracing does not depend on it: see `literals.py`.
    """
    if not simplified or not hasattr(config, "use_simplified_jaxpr_constants"):
        return contextlib.nullcontext()
    return config.use_simplified_jaxpr_constants(True)


def captured_constants_warn_bytes() -> int:
    """Return JAX's limit above which captured constants are reported; below 0 they never are."""
    return config.captured_constants_warn_bytes.value


class Settings:
    """The values of settings, as a key of tables; TypeError where one cannot be hashed.

    More than a hundred values are hashed once; a tuple would hash them at each look-up.
    """

    __slots__ = ("_hash", "_values")

    def __init__(self, values: tuple) -> None:
        self._values, self._hash = values, hash(values)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and self._values == other._values


def settings() -> Settings:
    """Return the values of all settings of JAX (jax 0.10.2) that may change a compiled program.

    JAX lowers and compiles each function for itself, so its keys omit some settings that lowering
    and compiling read. A list of these was the alternative; it could miss one.
    """
    values = tuple(map(_get_value, _value_holders(len(config.config._value_holders))))
    try:
        return Settings(values)
    except TypeError:  # a dictionary, where a plugin was given options
        return Settings(tuple(v if isinstance(v, Hashable) else repr(v) for v in values))


_get_value = operator.attrgetter("value")

# Settings of logs and guards, which change no program. One that is missing here costs at most a
# compilation.
_CHANGE_NO_PROGRAM = frozenset(
    {
        "jax_log_compiles", "jax_explain_cache_misses", "jax_logging_level",
        "jax_debug_log_modules", "jax_compiler_detailed_logging_min_ops",
        "jax_transfer_guard", "jax_transfer_guard_host_to_device",
        "jax_transfer_guard_device_to_device", "jax_transfer_guard_device_to_host",
        "jax_thread_guard", "jax_array_garbage_collection_guard",
    }
)  # fmt: skip


@functools.lru_cache(maxsize=1)
def _value_holders(count: int) -> tuple[Any, ...]:
    """List JAX's settings that may change a program; `count`, the cache key, grows with imports."""
    holders = list(config.config._value_holders.items())
    return tuple(holder for name, holder in holders if name not in _CHANGE_NO_PROGRAM)
