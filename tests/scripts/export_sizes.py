"""A constant that is used in three places: the sizes of its exports, and the times to load them.

    python tests/scripts/export_sizes.py --mebibytes 64 --rounds 5
    python tests/scripts/export_sizes.py --mebibytes 4608 --ways hoisted  # others: up to 2 GiB

Exports one function in three ways (stock `jax.export`, a plain export of `engine.export`, a hoisted
one). Then loads each file in fresh processes, forth and back through the ways, `--rounds` times.
*Load* ends with a function that can be called; *first call* is the call after it, compilation
included; *peak* is the most memory that was resident until then, beyond that before the load.
Prints a table and, with `--json FILE`, writes the figures.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from parity_tests.evidence.temporary_folders import temporary_folder
from parity_tests.processes.side_environment import environment_of, with_our_packages

WAYS = ("jax", "plain", "hoisted")


def main() -> None:
    """Measure, print a table, and write the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--mebibytes", type=int, default=64, help="of the square float32 constant")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--load", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    columns = int((options.mebibytes * 2**18) ** 0.5)
    if options.load:
        print(json.dumps(loaded(options.load, options.file, columns)))
        return
    with temporary_folder() as folder:
        sizes = written(folder, columns, options.ways)
        rows: list[dict[str, Any]] = []
        for number in range(options.rounds):
            for way in options.ways if number % 2 == 0 else options.ways[::-1]:
                command = [sys.executable, __file__, "--load", way, "--file", f"{folder}/{way}"]
                command += ["--mebibytes", str(options.mebibytes)]
                done = subprocess.run(
                    command,
                    env=with_our_packages(
                        environment_of("jax-legacy")
                    ),  # without a persistent cache
                    check=True,
                    capture_output=True,
                    text=True,
                )
                rows.append({"way": way, **json.loads(done.stdout.splitlines()[-1])})
    print(table(sizes, rows, columns))
    if options.json:
        temporary = options.json.with_suffix(".partial")
        temporary.write_text(json.dumps({"sizes": sizes, "rows": rows}, indent=1))
        temporary.replace(options.json)


def written(folder: Path, columns: int, ways: Sequence[str]) -> dict[str, dict[str, int]]:
    """Write a file in each way, and return the bytes of each and of its module."""
    import jax
    import jax.numpy as jnp

    from engine import export, jit

    constant = jax.random.normal(jax.random.key(0), (columns, columns))

    def fun(x: Any) -> Any:
        y = jax.lax.cond(x[0] > 0, lambda a: a @ constant, lambda a: a - 1, x @ constant)
        return jax.jit(lambda z: z * constant[0])(y)

    x = jnp.ones(columns)
    exports: dict[str, Callable[[], Any]] = {
        "jax": lambda: jax.export.export(jax.jit(fun))(x),
        "plain": lambda: export.export(jit(fun, constants="simplified"))(x),
        "hoisted": lambda: export.export(jit(fun, constants="simplified"), hoist_constants=True)(x),
    }
    sizes = {}
    for way in ways:
        exported = exports[way]()
        if way == "hoisted":
            exported.save(folder / way)
        else:
            (folder / way).write_bytes(exported.serialize())
        module = len(exported.mlir_module_serialized)
        sizes[way] = {"file": (folder / way).stat().st_size, "module": module}
    return sizes


def loaded(way: str, file: Path, columns: int) -> dict[str, float]:
    """Load one file in this process and call it: the seconds of both, and the peak in bytes."""
    import jax
    import numpy as np

    from engine import export
    from parity_tests.observe import memory

    x = np.ones(columns, np.float32)
    jax.block_until_ready(jax.jit(lambda x: x + 1)(x))  # starts the backend, which is not measured
    jax.export.deserialize(jax.export.export(jax.jit(lambda x: x))(x).serialize())
    with memory.peak() as of_both:
        start = time.perf_counter()
        if way == "hoisted":
            exported: Any = export.load(file)
        else:
            exported = jax.export.deserialize(bytearray(file.read_bytes()))
        at_load = time.perf_counter()
        jax.block_until_ready(exported.call(x))
        called = time.perf_counter() - at_load
    return {"load": at_load - start, "first call": called, "peak": of_both.nbytes or math.nan}


def table(sizes: dict[str, dict[str, int]], rows: list[dict[str, Any]], columns: int) -> str:
    """Return the sizes, the medians and the ratios to stock JAX as Markdown."""
    nbytes = 4 * columns**2
    lines = [f"a constant of {nbytes:,} bytes, used in three places"]
    lines += [
        "| way | file, bytes | module, bytes | load, ms | first call, ms | peak / the constant |",
        "|---|---|---|---|---|---|",
    ]
    medians = {
        way: {
            name: statistics.median(row[name] for row in rows if row["way"] == way)
            for name in ("load", "first call", "peak")
        }
        for way in sizes
    }
    for way, median in medians.items():
        times = f"{1e3 * median['load']:.3g} | {1e3 * median['first call']:.3g}"
        bytes_of = f"{sizes[way]['file']:,} | {sizes[way]['module']:,}"
        lines.append(f"| {way} | {bytes_of} | {times} | {median['peak'] / nbytes:.3f} |")
    if "hoisted" in sizes:
        size = sizes["hoisted"]["file"] / nbytes
        lines.append(f"hoisted: {size:.5f} times the bytes of the constant (target: at most 1.01)")
    if {"hoisted", "jax"} <= set(sizes):
        ratio = medians["hoisted"]["load"] / medians["jax"]["load"]
        lines.append(f"hoisted loads in {ratio:.3f} times the time of jax (target: less than 0.1)")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
