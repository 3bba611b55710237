"""What the first result of a program with a preamble takes, stage by stage, beside stock JAX.

    python tests/scripts/preamble_parts.py [TURNS]

For each of the ten programs of row 7 of `constparity bench`: the median milliseconds to the first
result, and those of it that JAX's lowering and XLA's compilation take, in both modes of stock JAX
and in simplified, which lowers and compiles two modules. Each is a process; they take turns.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from typing import Any

import jax

from parity_tests.bench.contestants import bind
from parity_tests.bench.rows import preamble
from parity_tests.processes.side_environment import environment_of, with_our_packages
from reports.rows.bench import Contestant

CONTESTANTS: tuple[Contestant, ...] = ("jax-legacy", "jax-simplified", "simplified")
STAGES = {
    "lower": "/jax/core/compile/jaxpr_to_mlir_module_duration",
    "compile": "/jax/core/compile/backend_compile_duration",
}


def taken(contestant: Contestant, number: int) -> dict[str, float]:
    """Take the times of one program in this process, after a small one that loads the kernels."""
    options: dict[str, Any] = preamble.options(contestant, "auto")
    captured, args = preamble._program(preamble.FEWEST)
    jax.block_until_ready(bind(contestant, preamble._fold, [captured], args, **options)())
    bound = preamble._bound(contestant, *preamble.PROGRAMS[number])
    seconds: dict[str, float] = defaultdict(float)

    def note(event: str, duration: float, **_: Any) -> None:
        seconds[event] += duration

    jax.monitoring.register_event_duration_secs_listener(note)
    start = time.perf_counter()
    jax.block_until_ready(bound())
    all_ = time.perf_counter() - start
    return {"all": all_, **{stage: seconds[event] for stage, event in STAGES.items()}}


def main() -> None:
    """Print a line for each program."""
    if len(sys.argv) > 2:
        [contestant] = (each for each in CONTESTANTS if each == sys.argv[1])
        print(json.dumps(taken(contestant, int(sys.argv[2]))))
        return
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    for number, (fun, *_) in enumerate(preamble.PROGRAMS):
        found: dict[str, list[dict[str, float]]] = defaultdict(list)
        for _ in range(turns):
            for each in CONTESTANTS:
                ran = subprocess.run(
                    [sys.executable, __file__, each, str(number)],
                    env=with_our_packages(environment_of(each, os.environ)),
                    capture_output=True, text=True, check=True,
                )  # fmt: skip
                found[each].append(json.loads(ran.stdout))
        medians = {
            each: {part: statistics.median(1e3 * one[part] for one in all_) for part in all_[0]}
            for each, all_ in found.items()
        }
        told = (
            f"{each} {of['all']:.0f} ms (lower {of['lower']:.0f}, compile {of['compile']:.0f})"
            for each, of in medians.items()
        )
        print(f"{fun.__name__}: {'; '.join(told)}", flush=True)


if __name__ == "__main__":
    main()
