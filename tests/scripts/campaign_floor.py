"""Measure the floor of a campaign of generated programs: what JAX itself takes on each side.

    python tests/scripts/campaign_floor.py SEED FIRST COUNT [DEPTH]

For each of the four sides a fresh process traces, lowers and compiles the programs, and nothing
else. Prints the processor time of that, without the start of the process. The report of a
campaign has the same of its programs, and of what it runs again.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from parity_tests.campaign.generated import name_of, recipe_of, write_module
from parity_tests.processes.side_environment import environment_of
from reports.rows import SIDES


def main() -> None:
    if sys.argv[1] in SIDES:
        print(of_side(sys.argv[1], Path(sys.argv[2])))
        return
    seed, first, count, *depths = map(int, sys.argv[1:])
    depth = depths[0] if depths else None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "generated.py"
        numbers = range(first, first + count)
        recipes = {name_of(seed, each): recipe_of(seed, each, "", depth) for each in numbers}
        write_module(recipes, file)
        whole = 0.0
        for side in SIDES:
            command = [sys.executable, __file__, side, str(file)]
            environment = {**environment_of(side), "PYTHONPATH": os.pathsep.join(sys.path)}
            done = subprocess.run(command, env=environment, capture_output=True, check=True)
            seconds = float(done.stdout.split()[-1])
            print(f"{side}: {seconds:.1f} s")
            whole += seconds
        print(f"all: {whole:.1f} s, {whole / count:.2f} s a program")


def of_side(side: str, file: Path) -> float:
    """Return the processor time of tracing, lowering and compiling all programs of a module."""
    import jax

    jit: Callable[..., Any] = jax.jit
    if not side.startswith("jax-"):
        import engine

        jit = functools.partial(engine.jit, constants=side)
    spec = importlib.util.spec_from_file_location("generated", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    jit(lambda x: x).trace(1.0).lower().compile()  # the backend starts
    begun = time.process_time()
    for factory in [each for name, each in vars(module).items() if name.startswith("seed_")]:
        try:
            fun, args = factory(jit)
            jit(fun).trace(*args).lower().compile()
        except (TypeError, ValueError):  # stock JAX refuses some
            pass
    return time.process_time() - begun


if __name__ == "__main__":
    main()
