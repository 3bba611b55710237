"""Row 14: the processor time of `import engine`, which imports JAX, beside `import jax`."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Iterable, Iterator
from resource import RUSAGE_CHILDREN, getrusage

from parity_tests.bench.pool import Measured, Pool, Row, Size
from parity_tests.bench.stepping import wait
from parity_tests.processes.side_environment import with_our_packages
from reports.rows.bench import BenchLine, Contestant, Target

PACKAGES: dict[Contestant, str] = {"simplified": "engine", "jax-simplified": "jax"}
IMPORTS: dict[Size, int] = {"quick": 1, "default": 5, "full": 5}
CASE, IMPORT = "import engine / import jax", "seconds of processor time"
WITHIN = Target(bound="at most", value=1.05)


def measure(contestant: Contestant, size: Size) -> Iterator[Measured]:
    """Import in a fresh process each time, after one that may write bytecode."""
    if contestant in PACKAGES:
        package = PACKAGES[contestant]
        taken = [_processor_seconds(package) for _ in range(1 + IMPORTS[size])]
        yield CASE, IMPORT, "seconds", statistics.median(taken[1:])


def _processor_seconds(package: str) -> float:
    environment = with_our_packages(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    wait()
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", f"import {package}"], env=environment, check=True)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def judge(pool: Pool) -> Iterable[BenchLine]:
    """Compare the two imports."""
    for case in pool.cases(IMPORT):
        yield pool.ratio(case, IMPORT, "simplified", "jax-simplified", WITHIN)


ROW = Row(14, "import of the engine", measure, judge)
