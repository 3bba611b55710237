"""Settings: ours as JAX's own Config objects, and JAX's as keys of our tables."""

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

    It is a Config object of jaxlib (jax 0.10.2), so a change of the setting misses in the C++
    fast path and in every trace cache of JAX, exactly as a flag of JAX's own does. A plain
    `threading.local` would not: the fast path never asks Python.
    """

    def __init__(self, name: str, default: Any, *, in_trace_key: bool) -> None:
        super().__init__(
            name, default, include_in_jit_key=True, include_in_trace_context=in_trace_key
        )

    def local(self, value: Any) -> contextlib.AbstractContextManager[None]:
        """Hold the setting at `value` in this thread, within one `with` block."""
        return _Held(self, value)


class _Held:
    """What `TracedSetting.local` returns; as a generator it would take several times as long."""

    __slots__ = ("_previous", "_setting", "_value")

    def __init__(self, setting: TracedSetting, value: Any) -> None:
        self._setting, self._value = setting, value

    def __enter__(self) -> None:
        self._previous = self._setting.swap_local(self._value)

    def __exit__(self, *_: Any) -> None:
        self._setting.set_local(self._previous)


def jax_embedded_constants_max_bytes() -> int:
    """JAX's own embed threshold, in bytes."""
    return config.embedded_constants_max_bytes.value


def simplified_jaxprs(enabled: bool) -> contextlib.AbstractContextManager[None]:
    """Choose, for this thread, which of its two forms JAX's tracer emits.

    Only tracing reads this half of JAX's flag; what the flag latches at import (whether JAX hoists
    when it lowers) never decides anything here, because our lowerings say it themselves.
    """
    return config.use_simplified_jaxpr_constants(enabled)


def jax_emits_simplified_jaxprs() -> bool:
    """JAX's own flag, as it is in this thread."""
    return config.use_simplified_jaxpr_constants.value


def captured_constants_limits() -> tuple[int, int]:
    """JAX's `captured_constants_warn_bytes` and `captured_constants_report_frames`."""
    return (
        config.captured_constants_warn_bytes.value,
        config.captured_constants_report_frames.value,
    )


class Settings:
    """The values of settings, as a key of tables; TypeError where one cannot be hashed.

    They are hashed once: there are more than a hundred, and a tuple of them would be hashed by each
    look into a table.
    """

    __slots__ = ("_hash", "_values")

    def __init__(self, values: tuple) -> None:
        self._values, self._hash = values, hash(values)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and self._values == other._values


def settings() -> Settings:
    """The values of all settings of JAX (jax 0.10.2) but those of `_NOTHING_IS_MADE_OF`.

    Some of those that lowering and compiling read are in no key of JAX's caches: it lowers and
    compiles each function for itself. To name them was the alternative, and one would be missed.
    """
    values = tuple(map(_value_of, _settings(len(config.config._value_holders))))
    try:
        return Settings(values)
    except TypeError:  # one is a dictionary where a plugin was given options
        return Settings(tuple(v if isinstance(v, Hashable) else repr(v) for v in values))


# What is logged and what is forbidden while a program is lowered and compiled, none of which is in
# the program. One that is not named here costs no more than a compilation.
_NOTHING_IS_MADE_OF = frozenset(
    {
        "jax_log_compiles", "jax_explain_cache_misses", "jax_logging_level",
        "jax_debug_log_modules", "jax_compiler_detailed_logging_min_ops",
        "jax_transfer_guard", "jax_transfer_guard_host_to_device",
        "jax_transfer_guard_device_to_device", "jax_transfer_guard_device_to_host",
        "jax_thread_guard", "jax_array_garbage_collection_guard",
    }
)  # fmt: skip


_value_of = operator.attrgetter("value")


@functools.lru_cache(maxsize=1)
def _settings(count: int) -> tuple[Any, ...]:
    """What holds the values of the settings; `count` is that of all, for imports add to them."""
    holders = list(config.config._value_holders.items())
    return tuple(holder for name, holder in holders if name not in _NOTHING_IS_MADE_OF)
