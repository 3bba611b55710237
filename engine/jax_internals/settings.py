"""The engine's settings as JAX's Config objects, and JAX's settings as keys of our tables."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Hashable, Sequence
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
        return held((self, value))


def held(*values: tuple[Any, Any]) -> contextlib.AbstractContextManager[None]:
    """Hold settings, ours or JAX's, at values in this thread, within one `with` block.

    `values` are pairs of a setting and its value.
    """
    return _Held(values)


class _Held:
    """The context manager of `held`: one for several settings, as first calls wait for it."""

    __slots__ = ("_previous", "_values")

    def __init__(self, values: Sequence[tuple[Any, Any]]) -> None:
        self._values = values

    def __enter__(self) -> None:
        self._previous = [setting.swap_local(value) for setting, value in self._values]

    def __exit__(self, *_: Any) -> None:
        for (setting, _), previous in zip(self._values, self._previous, strict=True):
            setting.set_local(previous)


def jax_embedded_constants_max_bytes() -> int:
    """Return JAX's own embed threshold, in bytes."""
    return int(config.embedded_constants_max_bytes.value)


def jax_flag_in_lowering(simplified: bool) -> Sequence[tuple[Any, Any]]:
    """Return JAX's own flag and its value for `held`, where JAX lowers Literals of arrays.

    JAX finds them with the flag set; a JAX without the flag always does. Tracing does not depend on
    it: see `literals.py`.
    """
    if not simplified or not hasattr(config, "use_simplified_jaxpr_constants"):
        return ()
    return ((config.use_simplified_jaxpr_constants, True),)


def captured_constants_warn_bytes() -> int:
    """Return JAX's limit above which captured constants are reported; below 0 they never are."""
    return int(config.captured_constants_warn_bytes.value)


class Settings:
    """The values of settings, as a key of tables; TypeError where one cannot be hashed.

    More than a hundred values are hashed once; a tuple would hash them at each look-up.
    """

    __slots__ = ("_hash", "_values")

    def __init__(self, values: tuple[Any, ...]) -> None:
        self._values, self._hash = values, hash(values)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and self._values == other._values


def settings() -> Settings:
    """Return the values of all settings of JAX (jax 0.10.2) that may change a compiled program.

    JAX lowers and compiles each function for itself, so its keys omit some settings that lowering
    and compiling read. A list of these was the alternative; it could miss one. Those that are in
    the keys of JAX's traces come from jaxlib, all at once.
    """
    others = _value_holders(len(config.config._value_holders))
    values = config.trace_context(), *map(_get_value, others)
    try:
        return Settings(values)
    except TypeError:  # a dictionary, where a plugin was given options
        return Settings(tuple(v if isinstance(v, Hashable) else repr(v) for v in values))


_get_value = operator.attrgetter("value")

# Settings of logs, guards, certificates and time limits, which change no program. One that is
# missing here costs at most a compilation.
_CHANGE_NO_PROGRAM = frozenset(
    {
        "jax_log_compiles", "jax_explain_cache_misses", "jax_logging_level",
        "jax_debug_log_modules", "jax_compiler_detailed_logging_min_ops",
        "jax_transfer_guard", "jax_transfer_guard_host_to_device",
        "jax_transfer_guard_device_to_device", "jax_transfer_guard_device_to_host",
        "jax_thread_guard", "jax_array_garbage_collection_guard",
        "jax_check_proxy_envs", "jax_debug_leaked_clients_on_clear_backends",
        "jax_distributed_debug", "jax_distributed_verify_secure_credentials",
        "jax_log_checkpoint_residuals", "jax_no_tracing", "jax_pprint_use_color",
        "jax_raise_persistent_cache_errors", "jax_tracer_error_num_traceback_frames",
        "jax_traceback_filtering", "jax_captured_constants_report_frames",
        "jax_captured_constants_warn_bytes", "jax_cpu_get_global_topology_timeout_minutes",
        "jax_cpu_get_local_topology_timeout_minutes", "jax_cross_host_transfer_timeout_seconds",
        "jax_share_binary_between_hosts_timeout_ms", "jax_compilation_cache_max_size",
        "jax_mtls_ca_file", "jax_mtls_cert_file", "jax_mtls_key_file",
        "jax_mtls_peer_uri_prefix",
    }
)  # fmt: skip


@functools.lru_cache(maxsize=1)
def _value_holders(count: int) -> tuple[Any, ...]:
    """List JAX's settings that may change a program and are in no key of JAX's traces.

    `count`, the cache key, grows with imports.
    """
    left_out = _CHANGE_NO_PROGRAM | set(config.trace_context_names())
    holders = config.config._value_holders.copy().items()
    return tuple(holder for name, holder in holders if name not in left_out)
