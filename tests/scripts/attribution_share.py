"""Measure how much of what attribution takes is JAX's own: tracing, lowering and compiling.

    python tests/scripts/attribution_share.py SIDE TARGET...

Runs each program on a side as attribution does where constant folding is the cause: without it on a
legacy side, then with the results of the equations that constants go into. Prints the processor
time of all, and of JAX. A side in simplified form needs JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS=1.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax

from parity_tests.drift import equation_values
from parity_tests.drift.xla_passes_off import FOLDING_OFF
from parity_tests.evidence.folder_layout import rerun_files
from parity_tests.observe.jit_on_side import jitted_on
from parity_tests.processes.protocol import Rerun
from parity_tests.worker.handling import TO_RERUN, load, start_up
from parity_tests.worker.jobs import rerun


class _Timed:
    """A jitted function, or a stage of it, that counts what JAX takes until it is compiled."""

    seconds = 0.0

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def trace(self, *args: Any, **kwargs: Any) -> Any:
        return self._count(lambda: self.inner.trace(*args, **kwargs))

    def lower(self, *args: Any, **kwargs: Any) -> _Timed:
        return _Timed(self._count(lambda: self.inner.lower(*args, **kwargs)))

    def compile(self, **options: Any) -> Any:
        return self._count(lambda: self.inner.compile(**options))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.lower(*args, **kwargs).compile()(*args, **kwargs)

    def _count(self, work: Callable[[], Any]) -> Any:
        begun = time.process_time()
        try:
            return work()
        finally:
            _Timed.seconds += time.process_time() - begun


def main() -> None:
    side, *targets = sys.argv[1:]
    start_up(side, TO_RERUN)
    load(targets[0])  # the module is imported
    equation_values.jitted_on = lambda fun, side: _Timed(jitted_on(fun, side))
    orders = [{"xla": FOLDING_OFF.xla}] if side.endswith("legacy") else []
    begun = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        for target in targets:
            jax.clear_caches()
            for order in (*orders, {"equations": "constants"}):
                number = len(list(Path(folder).iterdir()))
                files = rerun_files(Path(folder), number)
                rerun(Rerun(number=number, target=target, **order), side, files)
    whole = time.process_time() - begun
    print(f"{side}: {whole:.1f} s, of which JAX {_Timed.seconds:.1f} s")


if __name__ == "__main__":
    main()
