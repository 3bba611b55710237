"""Reads of the backend and its devices: by them a trace is that of the platform of this process.

What JAX itself reads is not recorded: its rules for each platform are those of lowering. But the
kernels that it has ready for users, and derivatives of random numbers, choose by devices, as users
do.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.export
import jax.extend.backend

from parity_tests.jax_internals import bridge, client_class
from parity_tests.observe.reads.recorder import Site, is_machinery, reader_of, replaced, site_of

# What says which platform it is, or how many devices there are (jax 0.8 to 0.12.0.1).
_PROPERTIES = ("platform", "device_kind", "platform_version")
_METHODS = (
    "devices", "local_devices", "device_count", "local_device_count", "memory_stats",
    "addressable_memories", "default_memory", "__repr__", "__str__",
)  # fmt: skip
# What says for which platform JAX was told to work.
_SETTINGS = ("jax_platforms", "jax_platform_name")

_JAX = os.path.dirname(jax.__file__) + os.sep
# Users read through these files.
_ASKED = (jax.devices, jax.export.default_export_platform)
_DOORS = {*(each.__code__.co_filename for each in _ASKED)}
_OF_CHIPS = (f"{os.sep}tpu_info.py", f"{os.sep}gpu_info.py")
_READERS = (
    os.path.join(_JAX, "experimental", "pallas", "ops") + os.sep,
    jax.random.gamma.__code__.co_filename,
)


@contextmanager
def backend_reads() -> Iterator[dict[Site, None]]:
    """Record the lines of users, and of libraries, that read the backend in a block.

    Example::

        with backend_reads() as found:
            jax.jit(f).trace(x)
        next(iter(found)).place.line
    """
    found: dict[Site, None] = {}
    jax.local_devices.cache_clear()  # what is kept asks nobody
    with replaced(_replacements(found)):
        yield found


_in_traces: dict[Site, None] = {}


def read_in_traces() -> tuple[Site, ...]:
    """Return the lines that read the backend in earlier blocks of `reads_in_traces`."""
    return tuple(_in_traces)


@contextmanager
def reads_in_traces(*, records: bool) -> Iterator[dict[Site, None]]:
    """Record as `backend_reads`, in a block that builds and traces a program, if it is wanted.

    What JAX keeps of earlier traces goes where one of them read: functions that they share would
    not be traced again.
    """
    if not records:
        yield {}
        return
    if _in_traces:
        jax.clear_caches()
    with backend_reads() as found:
        try:
            yield found
        finally:
            _in_traces.update(found)


def _replacements(found: dict[Site, None]) -> Iterator[tuple[Any, str, Any]]:
    for owner in (jax.Device, client_class()):
        for name in _PROPERTIES:
            if name in vars(owner):
                yield owner, name, property(_noting(found, vars(owner)[name].__get__))
        for name in _METHODS:
            if name in vars(owner):
                yield owner, name, _noting(found, vars(owner)[name])
    for module in (bridge(), jax.extend.backend):
        # Who asks for a backend that is not here gets an error.
        yield module, "backends", _noting(found, vars(module)["backends"])
    config = type(jax.config)
    for name in _SETTINGS:
        if name in vars(config):
            yield config, name, property(_noting(found, vars(config)[name].__get__))
    read_variable = type(os.environ).__getitem__
    noted = _noting(found, read_variable)

    def variable(self: Any, key: Any) -> Any:
        is_told = os.fsdecode(key).lower() in _SETTINGS
        is_set = sys._getframe(1).f_code.co_name == "setdefault"
        return (noted if is_told and not is_set else read_variable)(self, key)

    yield type(os.environ), "__getitem__", variable


def _is_door(file: str) -> bool:
    return file in _DOORS or (file.startswith(_JAX) and file.endswith(_OF_CHIPS))


def _noting(found: dict[Site, None], read: Callable[..., Any]) -> Callable[..., Any]:
    def noted(*args: Any, **kwargs: Any) -> Any:
        frame = reader_of(sys._getframe(1))
        while frame is not None and _is_door(frame.f_code.co_filename):
            frame = reader_of(frame.f_back)
        file = "" if frame is None else frame.f_code.co_filename
        # A thread that was given nothing but the question, of no file, is somebody's.
        if file.startswith(_READERS) or not is_machinery(file):
            found[site_of("backend", frame or sys._getframe(1))] = None
        return read(*args, **kwargs)

    return noted
