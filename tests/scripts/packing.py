"""What it would cost and change to pass small captured arrays as one array, in slices.

    python tests/scripts/packing.py calls      # a call and the first one, by what reads the arrays
    python tests/scripts/packing.py bits 0 60  # generated programs 0 to 59: are the bits the same?

Packed means: arrays of one dtype that differ in their first axis alone are concatenated along it,
and the program captures the result and slices it. Nothing is reshaped, because XLA sums a reshaped
array in another order.

`calls` prints ratios of processor time, the least of blocks that take turns in one process.
`bits` compares each program with itself, packed; and once more with only those arrays packed that
elementwise equations read. Its control compiles the unpacked program anew. Of programs with other
bits it says whether XLA fused both ways alike.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import engine
from engine.runtime import executable_cache

Program = Callable[[Sequence[Any], Any], Any]  # of arrays and an argument
ROUNDS, CALLS = 9, 200


def packed(fun: Program, arrays: Sequence[jax.Array], among: Collection[int]) -> Callable[..., Any]:
    """Return a function that captures packs of the arrays `among` these, and slices them."""
    groups: dict[Hashable, list[int]] = {}
    for i in sorted(among):
        groups.setdefault((arrays[i].dtype, arrays[i].shape[1:]), []).append(i)
    packs = [
        (jax.device_put(np.concatenate([arrays[i] for i in indices])), indices)
        for indices in groups.values()
        if len(indices) > 1
    ]

    def sliced(x: Any) -> Any:
        own = list(arrays)
        for pack, indices in packs:
            start = 0
            for i in indices:
                end = start + arrays[i].shape[0]
                own[i] = lax.slice_in_dim(pack, start, end)
                start = end
        return fun(own, x)

    return sliced


# -- calls -----------------------------------------------------------------------------------------


def _each(step: Callable[[Any, Any], Any]) -> Program:
    def program(arrays: Sequence[Any], x: Any) -> Any:
        for array in arrays:
            x = step(x, array)
        return x

    return program


def _normalized(x: Any, scale: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale


_ELEMENTWISE = _each(lambda x, c: x * c + 1)

# Name, program, number of arrays, their shape, shape of the argument.
CASES: list[tuple[str, Program, int, tuple[int, ...], tuple[int, ...]]] = [
    *(("`x * c + 1`", _ELEMENTWISE, n, (64,), (64,)) for n in (2, 4, 10, 100, 500)),
    ("`x * c + 1`", _ELEMENTWISE, 50, (1024,), (1024,)),
    ("scales of normalizations", _each(_normalized), 50, (64,), (8, 64)),
    ("`tanh(x @ c)`", _each(lambda x, c: jnp.tanh(x @ c)), 50, (16, 16), (4, 16)),
    ("`x * c + sum(c)`", _each(lambda x, c: x * c + jnp.sum(c)), 50, (64,), (64,)),
    ("`x + sort(c)`", _each(lambda x, c: x + jnp.sort(c)), 50, (64,), (64,)),
    (
        "`scan` over `c`",
        _each(lambda x, c: lax.scan(lambda s, row: (s * 0.5 + row, None), x, c)[0]),
        *(50, (8, 16), (16,)),
    ),
    (
        "`x * c + 1` in a loop",
        lambda arrays, x: lax.fori_loop(0, 10, lambda _, x: _ELEMENTWISE(arrays, x), x),
        *(50, (64,), (64,)),
    ),
]


def calls() -> None:
    """Print a line for each case: a call and the first one, packed, beside today's and legacy's."""
    print("| arrays are read by | arrays | a call | beside today | beside legacy | first call |")
    print("|---|---|---|---|---|---|")
    for name, program, count, shape, of_argument in CASES:
        random = np.random.default_rng(0)
        arrays = [jax.device_put(random.random(shape, np.float32)) for _ in range(count)]
        x = jax.device_put(random.random(of_argument, np.float32))

        def plain(x: Any, program: Program = program, arrays: Any = arrays) -> Any:
            return program(arrays, x)

        ways = {
            # Legacy goes first: it pays for what JAX and XLA do once in a process.
            "legacy": engine.jit(plain, constants="legacy"),
            "packed": engine.jit(packed(program, arrays, range(count)), constants="simplified"),
            "today": engine.jit(plain, constants="simplified"),
        }
        first = {way: _seconds(jitted, x, 1) for way, jitted in ways.items()}
        blocks: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(ROUNDS):
            for way, jitted in ways.items():
                _seconds(jitted, x, CALLS // 10)  # the caches are full of another way's data
                blocks[way].append(_seconds(jitted, x, CALLS) / CALLS)
        call = {way: 1e6 * min(of_way) for way, of_way in blocks.items()}
        print(
            f"| {name} | {count} of {' x '.join(map(str, shape))} "
            f"| {call['packed']:.1f} µs | {call['packed'] / call['today']:.2f}x "
            f"| {call['packed'] / call['legacy']:.2f}x | {first['packed'] / first['today']:.2f}x, "
            f"{first['packed']:.2f} s against {first['today']:.2f} s |",
            flush=True,
        )


def _seconds(jitted: Callable[..., Any], x: Any, count: int) -> float:
    start = time.process_time()
    for _ in range(count):
        result = jitted(x)
    jax.block_until_ready(result)
    return time.process_time() - start


# -- bits ------------------------------------------------------------------------------------------

# Of two values of the program and two arrays.
ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "fma": lambda a, b, c, d: a * c + d,
    "scale": lambda a, b, c, d: (a + b) * c - d,
    "tanh": lambda a, b, c, d: jnp.tanh(a * c) + b * d,
    "exp": lambda a, b, c, d: jnp.exp(-jnp.abs(a * c)) * d + b,
    "sigmoid": lambda a, b, c, d: jax.nn.sigmoid(a + c) * b - d,
    "select": lambda a, b, c, d: jnp.where(a > c, b * d, a),
    "affine": lambda a, b, c, d: a * (c * d + jnp.exp(c * 0.1)) * 0.5 + 0.25,
    "shift": lambda a, b, c, d: jnp.roll(a, 1, -1) * c + b[..., ::-1] * d,
}
OTHERS: dict[str, Callable[..., Any]] = {
    "mean": lambda a, b, c, d: a - jnp.mean(a * c, -1, keepdims=True) * d,
    "sum": lambda a, b, c, d: a + jnp.sum(c) * b * d,
    "norm": lambda a, b, c, d: a / (1 + jnp.sqrt(jnp.sum(c * c))) + b * d,
    "dot": lambda a, b, c, d: a * c + (a @ d)[..., None] / d.size,
}


def _generated(seed: int) -> tuple[Program, list[jax.Array], jax.Array, set[int]]:
    """Make a program, its arrays, its argument, and the arrays that are read elementwise alone."""
    random = np.random.default_rng(seed)
    rows, columns = int(random.integers(1, 9)), int(random.integers(9, 40))
    names = random.choice([*ELEMENTWISE, *OTHERS], int(random.integers(4, 80)))
    shapes = [(columns,), (rows, columns)]
    arrays, steps, elementwise = [], [], set()
    for name in names:
        for which in (0, 1):
            shape = shapes[0 if name == "dot" and which else int(random.integers(2))]
            arrays.append(jax.device_put(random.standard_normal(shape, np.float32)))
        if name in ELEMENTWISE:
            elementwise |= {len(arrays) - 2, len(arrays) - 1}
        steps.append((ELEMENTWISE.get(name) or OTHERS[name], *random.integers(1, 4, 2)))

    def program(arrays: Sequence[Any], x: Any) -> Any:
        values = [x]
        for n, (step, back, further_back) in enumerate(steps):
            a, b = (values[-min(each, len(values))] for each in (back, further_back))
            values.append(step(a, b, *arrays[2 * n : 2 * n + 2]))
        return values[-2:]

    x = jax.device_put(random.standard_normal((rows, columns), np.float32))
    return program, arrays, x, elementwise


def bits(first: int, end: int) -> None:
    """Print how many generated programs have other bits, packed in each way, and which."""
    other: dict[str, list[int]] = {"control": [], "all": [], "elementwise": []}
    for seed in range(first, end):
        program, arrays, x, elementwise = _generated(seed)
        jax.clear_caches()  # or the memory grows

        def plain(x: Any, program: Program = program, arrays: Any = arrays) -> Any:
            return program(arrays, x)

        expected = _bits(plain, x)
        for way, fun in {
            "control": plain,
            "all": packed(program, arrays, range(len(arrays))),
            "elementwise": packed(program, arrays, elementwise),
        }.items():
            if _bits(fun, x) != expected:
                other[way].append(seed)
    print(f"jax {jax.__version__}, programs {first} to {end - 1}, other bits:")
    for way, seeds in other.items():
        print(f"  {way}: {len(seeds)} {seeds}")
    same = [seed for seed in other["elementwise"] if _are_fused_alike(seed)]
    print(f"of the last, fused alike: {len(same)} {same}")


def _are_fused_alike(seed: int) -> bool:
    """Say whether XLA makes fusions of the same sizes, slices aside, of both ways of a program."""
    program, arrays, x, elementwise = _generated(seed)
    ways = (lambda x: program(arrays, x)), packed(program, arrays, elementwise)
    one, other = (_sizes(engine.jit(fun, constants="simplified").lower(x)) for fun in ways)
    return one == other


def _sizes(lowered: Any) -> list[int]:
    text = lowered.compile().as_text()
    bodies = re.findall(r"^%?\S*computation\S* \(.*?\{\n(.*?)^\}", text, re.DOTALL | re.MULTILINE)
    reads = re.compile(r" (parameter|slice|bitcast)\(")
    return sorted(sum(not reads.search(line) for line in body.splitlines()) for body in bodies)


def _bits(fun: Callable[..., Any], x: jax.Array) -> list[bytes]:
    with executable_cache.unshared():
        results = engine.jit(fun, constants="simplified")(x)
    return [np.asarray(each).tobytes() for each in results]


if __name__ == "__main__":
    what, *numbers = sys.argv[1:]
    if what == "calls":
        calls()
    else:
        bits(*map(int, numbers))
