"""The connection to a scheduler of Dask: its address is read, and what it logs is kept back."""

from __future__ import annotations

import contextlib
import gc
import logging
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed import Client

PATIENCE_SECONDS = 600.0
# "node-1:8786", "tls://10.0.0.7:8786", "tcp://[fe80::1]:8786".
_ADDRESS = re.compile(r"(?:(?P<protocol>\w+)://)?(?:\[[\w:.%]+\]|[^\s:/\[\]]+):\d{1,5}")


class ClusterError(ValueError):
    """A cluster cannot be used; the message names the scheduler, why, and what to do."""


@contextlib.contextmanager
def connected(address: str, patience: float = PATIENCE_SECONDS) -> Iterator[Client]:
    """Connect to a scheduler, waiting `patience` seconds for it at most.

    What Dask logs of a connection that is lost is kept back, for it is said here. Raises
    `ClusterError`.
    """
    try:
        from distributed import Client
        from distributed.comm.registry import backends
    except ModuleNotFoundError as missing:
        what = "a cluster needs dask.distributed: install constparity[cluster]"
        raise ClusterError(what) from missing
    # A client that cannot read its address fails in a thread, and says so in tracebacks.
    parts = _ADDRESS.fullmatch(address)
    if parts is None or (parts["protocol"] or "tcp") not in backends:
        raise ClusterError(
            f"{address!r} is no address of a scheduler; write one as tcp://node-1:8786"
        )
    with _quiet():
        # A client that found no scheduler closes when it is garbage. If that is while a thread of
        # the next one starts, the two wait for each other for ever.
        gc.collect()
        try:
            client = Client(address, timeout=patience, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:  # the last, where TLS is not set up
            raise ClusterError(
                f"no scheduler at {address!r} ({error}); start one with `dask scheduler`, and "
                "check the address"
            ) from error
        try:
            yield client
        finally:
            client.close(timeout=2)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask from logging in this process, where a scheduler that goes leaves tracebacks."""
    loggers = [logging.getLogger(each) for each in ("distributed", "distributed.client")]
    levels = [each.level for each in loggers]
    for each in loggers:
        each.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for each, level in zip(loggers, levels, strict=True):
            each.setLevel(level)
