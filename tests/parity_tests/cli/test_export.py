"""`export inspect` shows what is in a file, and runs nothing."""

import collections
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest

import engine
from parity_tests.cli import app, export


@pytest.fixture
def file(tmp_path):
    """A file with two constants of the same content, and keys; one derivative."""
    one, other = jnp.ones((8, 8)), jnp.ones((8, 8))
    keys = jax.random.split(jax.random.key(0), 5)

    def step(x):
        return jnp.sum(jnp.tanh(x @ one) @ other * jax.random.uniform(keys[0]))

    jitted = engine.jit(step, constants="simplified")
    exported = engine.export.export(jitted, hoist_constants=True, platforms=("cpu", "cuda"))
    path = tmp_path / "step.safetensors"
    exported(jnp.ones(8)).save(path, vjp_order=1)
    return path


def test_inspect_shows_programs_constants_sizes_and_versions(file, capsys):
    assert app.main(["export", "inspect", str(file)]) == 0
    out = capsys.readouterr().out
    size = f"{file.stat().st_size:,} bytes"
    assert f"constparity.export version 1, {size}; jax {jax.__version__}" in out
    assert "program: step, " in out
    assert "for cpu/cuda on 1 device, calling convention 10" in out
    assert "inputs:    float32[8], float32[]\n" in out  # of the derivative
    assert "constant 0: uint32 5x2 (PRNG keys of threefry2x32), 40 bytes" in out
    assert "constant 1: float32 8x8, 256 bytes" in out
    assert "constant 2: float32 8x8, the bytes of constant 1" in out
    assert "stablehlo" not in out


@pytest.mark.parametrize("large", [True, False])
def test_a_large_file_is_said_to_take_its_time(file, capsys, monkeypatch, large):
    monkeypatch.setattr(export, "_LARGE", 0 if large else 2**28)
    assert app.main(["export", "inspect", str(file)]) == 0
    said = capsys.readouterr().err
    assert (f"{file}: comparing " in said) == large
    assert large or not said


def test_inspect_runs_nothing(file):
    """Where there is no backend at all, nothing can be compiled or run."""
    done = subprocess.run(
        [sys.executable, "-m", "parity_tests.cli", "export", "inspect", str(file), "--module"],
        env={**os.environ, "JAX_PLATFORMS": "no_such_platform"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("func.func public @main") == 2
    assert "jax.const = true" in done.stdout


@pytest.mark.parametrize("place", [20, 5000, -1])
def test_what_is_damaged_or_none_is_an_error_of_usage(file, capsys, place):
    data = bytearray(file.read_bytes())
    data[place] ^= 1
    file.write_bytes(data)
    assert app.main(["export", "inspect", str(file)]) == 4
    assert f"cannot read {file}: " in capsys.readouterr().err
    none = file.with_name("none")
    assert app.main(["export", "inspect", str(none)]) == 4
    said = capsys.readouterr().err
    assert said == (
        f"constparity: cannot read '{none}': No such file or directory; check the path\n"
    )


def test_a_type_of_nodes_that_nobody_registered_is_named(tmp_path, capsys):
    Pair = collections.namedtuple("Pair", "a b")
    engine.export.register_namedtuple_serialization(Pair, serialized_name="a pair of mine")
    jitted = engine.jit(lambda pair: pair.a + pair.b, constants="simplified")
    file = tmp_path / "f"
    engine.export.export(jitted, hoist_constants=True)(Pair(1.0, 2.0)).save(file)
    script = "import sys; from parity_tests.cli import app; sys.exit(app.main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", script, "export", "inspect", str(file)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 4
    assert f"cannot read {file}: " in done.stderr
    assert "not registered in this process" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_names_of_a_file_give_no_orders_to_a_terminal(tmp_path, capsys):
    def fun(x):
        return x

    fun.__name__ = "\x1b[2Jgone"
    jitted = engine.jit(fun, constants="simplified")
    engine.export.export(jitted, hoist_constants=True)(1.0).save(tmp_path / "f")
    assert app.main(["export", "inspect", str(tmp_path / "f")]) == 0
    out = capsys.readouterr().out
    assert "\\x1b[2Jgone" in out
    assert "\x1b[2J" not in out
