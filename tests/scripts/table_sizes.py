"""Draw the time to compile and to call a program over the size of the table that it captures.

    python tests/scripts/table_sizes.py docs/table_sizes.svg --turns 3

The program is `x @ (c.T @ c)` for `c = sort(cumsum(table))`. Each turn has a fresh process of each
contestant, in one order and then in the other. Drawn and printed are medians, on logarithmic axes.
"""

import argparse
import functools
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from xml.sax.saxutils import escape

from reports.output.axes import logarithmic
from reports.views.figures import humanise_bytes, humanise_seconds

CONTESTANTS = {  # what is drawn of each: the colours differ to those who see few of them
    "jax-legacy": ("#d55e00", ""),
    "legacy": ("#d55e00", "6 4"),
    "jax-simplified": ("#0072b2", ""),
    "simplified": ("#0072b2", "6 4"),
    "preamble": ("#009e73", ""),
}
COLUMNS = (16, 32, 64, 128, 256, 512)
WIDTH, HEIGHT, TOP, BOTTOM, LEFT = 380, 330, 64, 280, 64
Times = dict[str, list[tuple[float, float]]]  # of each contestant, by size: compile, call


def main() -> None:
    """Measure in fresh processes, print the medians, and write the drawing."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("path", type=Path)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--in-process", choices=CONTESTANTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.in_process:
        measured(options.in_process, COLUMNS[0] + 1)  # what JAX does once a process
        print(json.dumps([measured(options.in_process, columns) for columns in COLUMNS]))
        return
    turns: dict[str, list[list[list[float]]]] = {each: [] for each in CONTESTANTS}
    for turn in range(options.turns):
        for contestant in list(CONTESTANTS)[:: 1 if turn % 2 else -1]:
            turns[contestant].append(_in_a_process(contestant, options.path))
    times: Times = {
        each: [
            (statistics.median(compiled), statistics.median(called))
            for compiled, called in (
                zip(*of_size, strict=True) for of_size in zip(*taken, strict=True)
            )
        ]
        for each, taken in turns.items()
    }
    for each, of_sizes in times.items():
        print(f"{each}:", *(" / ".join(map(humanise_seconds, both)) for both in of_sizes), sep="  ")
    options.path.write_text(drawing(times), "utf-8")


def _in_a_process(contestant: str, path: Path) -> list[list[float]]:
    is_simplified = contestant not in ("legacy", "jax-legacy")
    done = subprocess.run(
        [sys.executable, __file__, path, "--in-process", contestant],
        env={**os.environ, "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": str(int(is_simplified))},
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # XLA's alarms of slow folding
    )
    taken: list[list[float]] = json.loads(done.stdout)
    return taken


def measured(contestant: str, columns: int) -> tuple[float, float]:
    """Return the seconds to lower and compile the program, preamble included, and of a call."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    import engine

    random = np.random.default_rng(0)
    table = jax.device_put(random.standard_normal((columns, columns), np.float32))
    x = jnp.ones((1, columns))

    def program(x: jax.Array) -> jax.Array:
        c = jnp.sort(jnp.cumsum(table, axis=0), axis=1)
        return x @ (c.T @ c)

    jit = jax.jit
    if not contestant.startswith("jax-"):
        side = "legacy" if contestant == "legacy" else "simplified"
        precompute = "auto" if contestant == "preamble" else "off"
        jit = functools.partial(engine.jit, constants=side, precompute_constants=precompute)
    start = time.perf_counter()
    compiled = jit(program).lower(x).compile()
    taken = time.perf_counter() - start
    compiled(x).block_until_ready()
    calls, start = 0, time.perf_counter()
    while time.perf_counter() - start < 0.5:
        compiled(x).block_until_ready()
        calls += 1
    return taken, (time.perf_counter() - start) / calls


def drawing(times: Times) -> str:
    """Return two plots as SVG: to compile, and to call."""
    width = 2 * WIDTH
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        "<title>Seconds to compile and to call a program over the bytes of the table that it "
        "captures</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    for n, (name, (colour, dashes)) in enumerate(CONTESTANTS.items()):
        at = LEFT + 135 * n
        lines += [
            f'<line x1="{at}" y1="16" x2="{at + 26}" y2="16" stroke="{colour}" stroke-width="2" '
            f'stroke-dasharray="{dashes}"/>',
            f'<text x="{at + 32}" y="20">{name}</text>',
        ]
    for plot, title in enumerate(("to compile", "of a call")):
        lines += _plot(times, plot, title)
    return "\n".join([*lines, "</svg>", ""])


def _plot(times: Times, plot: int, title: str) -> list[str]:
    left, right = LEFT + plot * WIDTH, (plot + 1) * WIDTH - 16
    sizes = [4 * columns**2 for columns in COLUMNS]
    x = logarithmic(sizes, left, right, 2.0)
    y = logarithmic((each[plot] for of in times.values() for each in of), BOTTOM, TOP)
    lines = [f'<text x="{left}" y="50" font-weight="bold">seconds {title}</text>']
    for tick in y.ticks(humanise_seconds):
        lines += [
            f'<line x1="{left}" y1="{tick.at}" x2="{right}" y2="{tick.at}" stroke="#dddddd"/>',
            f'<text x="{left - 6}" y="{tick.at + 4}" text-anchor="end">{escape(tick.text)}</text>',
        ]
    for size in sizes[::2]:
        text = humanise_bytes(size)
        lines += [f'<text x="{x.at(size)}" y="300" text-anchor="middle">{text}</text>']
    lines += [f'<text x="{right}" y="320" text-anchor="end">bytes that are captured</text>']
    for name, (colour, dashes) in CONTESTANTS.items():
        points = [(x.at(s), y.at(each[plot])) for s, each in zip(sizes, times[name], strict=True)]
        path = " ".join(f"{across},{down}" for across, down in points)
        lines += [
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" '
            f'stroke-dasharray="{dashes}"/>',
            *(f'<circle cx="{a}" cy="{d}" r="3" fill="{colour}"/>' for a, d in points),
        ]
    return lines


if __name__ == "__main__":
    main()
