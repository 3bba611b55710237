"""What a stand-alone file does when it is run: both sides in fresh processes, and the difference.

The text below the line is copied into every file, after the `program` that it runs and the same
imports. It uses `SIDES` and `SHOWS`, and of this project only what a side of ours needs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import jax
import numpy as np

SIDES: tuple[str, str] = ("jax-legacy", "jax-simplified")
SHOWS: dict[str, Any] = {}
program: Any = None

# -- the text that is copied -----------------------------------------------------------------------


def jitted(fun: Any, side: Any) -> Any:
    """Return the function as a side compiles it."""
    if side.startswith("jax-"):
        return fun if hasattr(fun, "lower") else jax.jit(fun)  # what is collected is jitted already
    import engine  # of constparity: this side is not one of stock JAX

    return engine.jit(fun, constants=side)


def observe(side: str, folder: str) -> None:
    """Run the program on a side, in this process, and leave what it shows in a folder."""
    facts: dict[str, Any] = {"stage": "build"}
    outputs: list[Any] = []
    try:
        fun, args = program()
        function = jitted(fun, side)
        facts["stage"] = "trace"
        traced = function.trace(*args)
        facts["stage"] = "lower"
        lowered = traced.lower()
        facts["stage"] = "compile"
        compiled = lowered.compile()
        facts["stage"] = "first call"
        jax.block_until_ready(compiled(*args))
        facts["stage"] = "call"
        _, args = program()  # the first call may have consumed them
        outputs = jax.block_until_ready(function(*args))
        facts |= measured(lowered, compiled, outputs)
    except Exception as error:  # noqa: BLE001 - whatever the program raises is what is shown
        facts["raised"] = f"{type(error).__name__}: {said_by(error)}"
    arrays: dict[str, Any] = {
        f"output{n}": np.frombuffer(host(each).tobytes(), np.uint8)
        for n, each in enumerate(outputs)
    }
    np.savez(Path(folder, "outputs.npz"), **arrays)
    Path(folder, "facts.json").write_text(json.dumps(facts))


def said_by(error: Exception) -> str:
    """Return the text of an exception, or why it has none: its `__str__` may raise itself."""
    try:
        return str(error)
    except Exception as other:  # noqa: BLE001 - as above
        return f"its text could not be read: __str__ raised {type(other).__name__}"


def host(array: jax.Array) -> np.ndarray:
    """Bring an output to the host; of typed PRNG keys, the key data."""
    is_key = jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(array) if is_key else array)


def measured(lowered: Any, compiled: Any, outputs: list[jax.Array]) -> dict[str, Any]:
    """Measure what can differ without an output being another number."""
    [main] = [line for line in lowered.as_text().splitlines() if "func.func public @main" in line]
    memory = compiled.memory_analysis()
    return {
        "const args": main.count("jax.const = true"),
        "StableHLO bytes": len(lowered.as_text()),
        "argument bytes": getattr(memory, "argument_size_in_bytes", None),
        "temporary bytes": getattr(memory, "temp_size_in_bytes", None),
        "output shapes": [list(each.shape) for each in outputs],
        "output dtypes": [str(each.dtype) for each in outputs],
        "output weak types": [bool(getattr(each, "weak_type", False)) for each in outputs],
        "output committed": [bool(each.committed) for each in outputs],
        "output shardings": [str(each.sharding) for each in outputs],
    }


def run(side: str) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Run the program on a side in a fresh process; return its facts and its outputs."""
    flag = "1" if side == "jax-simplified" else "0"
    environment = {**os.environ, "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": flag}
    environment |= {"CONSTPARITY_SIDE": side, "JAX_ENABLE_COMPILATION_CACHE": "0"}
    with tempfile.TemporaryDirectory() as folder:
        environment["CONSTPARITY_FOLDER"] = folder
        command, seconds = [sys.executable, __file__], SHOWS["seconds"]
        try:
            done = subprocess.run(command, env=environment, check=False, timeout=seconds)
        except subprocess.TimeoutExpired:
            return {"raised": f"no result in {seconds:g} seconds"}, []
        facts, outputs = Path(folder, "facts.json"), Path(folder, "outputs.npz")
        if not facts.exists():
            return {"raised": f"the process ended with status {done.returncode}"}, []
        with np.load(outputs, allow_pickle=False) as stored:
            raw = [stored[f"output{n}"] for n in range(len(stored.files))]
        return json.loads(facts.read_text()), raw


def typed(raw: np.ndarray, dtype: str) -> np.ndarray:
    """Give the bytes of an output their dtype; what NumPy has no name for stays bytes."""
    import ml_dtypes

    name = getattr(ml_dtypes, dtype, dtype)
    return raw if dtype.startswith("key") else raw.view(np.dtype(name))


def parts(array: np.ndarray) -> np.ndarray:
    """Return the real and the imaginary parts of numbers, as rows of two."""
    return array.astype(np.complex128).view(np.float64).reshape(-1, 2)


def compared(left: Any, right: Any, tolerances: dict[str, float]) -> list[str]:
    """Say where two lists of outputs differ by more than the tolerances of their dtypes.

    A tolerance is relative, and absolute where outputs come near 1, smaller where all are smaller.
    Outputs of dtypes without one have to be the same bits.
    """
    found: list[str] = []
    dtypes = [facts.get("output dtypes", []) for facts, _ in (left, right)]
    if dtypes[0] != dtypes[1]:
        return found
    for n, (raw_a, raw_b, dtype) in enumerate(zip(left[1], right[1], dtypes[0], strict=True)):
        if raw_a.tobytes() == raw_b.tobytes():
            continue
        a, b = (parts(typed(each, dtype)) for each in (raw_a, raw_b))
        finite = np.isfinite(a) & np.isfinite(b)
        apart = ~((a == b) | (np.isnan(a) & np.isnan(b)))
        lost = (apart & ~finite).any(-1)
        a, b = (np.where(finite, each, 0.0) for each in (a, b))
        with np.errstate(all="ignore"):
            distance, size = np.hypot(*(a - b).T), np.maximum(np.hypot(*a.T), np.hypot(*b.T))
            relative = np.nanmax(np.where(size > 0, distance / size, 0.0))
        tolerance = tolerances.get(dtype, 0.0)
        beyond = lost | (distance > tolerance * (min(1.0, size.max()) + size))
        if tolerance == 0 or beyond.any():
            found.append(
                f"output {n}: {int(apart.any(-1).sum())} of {len(a)} elements differ, "
                f"by up to {relative:.3g} relative"
            )
    return found


def main() -> None:
    """Print what each side shows and how they differ; exit with 1 where the difference is there."""
    if SHOWS["metric"] == "judged by constparity":
        # In the place of this process: a child would live on where this process is killed.
        command = [sys.executable, "-m", "parity_tests.cli", "run", f"{__file__}:program"]
        os.execv(sys.executable, [*command, "--sides", ",".join(SIDES)])
    both = [run(side) for side in SIDES]
    for side, (facts, outputs) in zip(SIDES, both, strict=True):
        if side.startswith("jax-"):
            flag = int(side == "jax-simplified")
            side = f"JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS={flag} ({side})"
        print(f"{side}:")
        if "raised" in facts:
            print(f"    raised in {facts.get('stage', 'a crash')}: {facts['raised']}")
        for n, (raw, dtype) in enumerate(
            zip(outputs, facts.get("output dtypes", ()), strict=False)
        ):
            numbers = " ".join(str(each) for each in typed(raw, dtype)[:4])
            print(f"    output {n}: {dtype}{facts['output shapes'][n]} {numbers} ...")
        if SHOWS["metric"] in facts:
            print(f"    {SHOWS['metric']}: {facts[SHOWS['metric']]}")
    found = differences(*both)
    print("difference: " + ("; ".join(found) or "none"))
    sys.exit(1 if found else 0)


def differences(left: Any, right: Any) -> list[str]:
    """Say how the two sides differ in what this file is to show."""
    metric = SHOWS["metric"]
    if metric == "failure":
        raised = [facts.get("raised", "works") for facts, _ in (left, right)]
        for side, said in zip(SIDES, raised, strict=True):
            expected = SHOWS["fails"].get(side)
            if (said == "works") != (expected is None) or not said.startswith(expected or ""):
                return []
        return [" against ".join(raised)]
    for side, (facts, _) in zip(SIDES, (left, right), strict=True):
        if "raised" in facts:
            print(
                f"the file shows something else: {side} raised {facts['raised']}", file=sys.stderr
            )
            sys.exit(2)
    if metric == "outputs":
        return compared(left, right, SHOWS["tolerances"])
    a, b = left[0][metric], right[0][metric]
    return [] if a == b else [f"{metric}: {a} against {b}"]


if __name__ == "__main__":
    if "CONSTPARITY_SIDE" in os.environ:
        observe(os.environ["CONSTPARITY_SIDE"], os.environ["CONSTPARITY_FOLDER"])
    else:
        main()
