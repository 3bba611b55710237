"""The five hooks: importing a file patches nothing, `engine/__init__` installs them once."""

import subprocess
import sys

import pytest

import engine
from engine.jax_internals import hooks

HOOKED = """
import importlib.util, pkgutil, sys, types
from pathlib import Path
import jax
from jax._src import pjit
from jax._src.interpreters import ad, partial_eval, pxla
import jax.export, jax.extend, jax.experimental.layout
from jax._src import core, traceback_util

OURS = ("engine", "legacy_closedjaxpr", "simplified_consts")

def hooked():
    trace = partial_eval.DynamicJaxprTrace
    return {
        "new_const": trace.new_const, "pure": trace.pure, "lift": trace.lift,
        "implementation": pjit.jit_p.impl, "transposition": ad.fancy_transposes[pjit.jit_p],
        "jit_trace": pjit.jit_trace, "cached_compilation": pxla._cached_compilation,
        "types of constants": len(core.pytype_aval_mappings),
        "hidden": [path for path in traceback_util._exclude_paths if path.endswith(OURS)],
    }

stock = hooked()
"""
EVERY_MODULE = """
for name in OURS:
    # A stand-in for the package, so that its __init__ does not run.
    package = types.ModuleType(name)
    package.__path__ = [str(Path(importlib.util.find_spec(name).origin).parent)]
    sys.modules[name] = package
for name in OURS:
    for module in pkgutil.walk_packages(sys.modules[name].__path__, name + "."):
        importlib.import_module(module.name)
"""
CHANGED = "print(*[name for name, was in stock.items() if hooked()[name] != was])"


def changed_by(statements):
    done = subprocess.run(
        [sys.executable, "-c", HOOKED + statements + CHANGED],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return set(done.stdout.split())


def test_importing_a_file_patches_nothing():
    assert changed_by(EVERY_MODULE) == set()


def test_importing_the_engine_installs_the_hooks():
    assert changed_by("import engine\n") == {
        "new_const", "pure", "lift", "implementation", "transposition", "jit_trace",
        "cached_compilation", "hidden",
    }  # fmt: skip


def test_what_is_installed_is_not_installed_again():
    before = engine.jax_internals.stock_jit
    assert hooks.install.cache_info().currsize == 1
    again = changed_by(
        "import engine\nstock = hooked()\nfrom importlib import reload\nreload(engine)\n"
    )
    assert again == set()
    assert engine.jax_internals.stock_jit is before


@pytest.mark.parametrize("package", ["engine", "legacy_closedjaxpr", "simplified_consts"])
def test_frames_of_the_packages_are_no_frames_of_a_user(package):
    script = (
        "import engine; from jax._src import traceback_util\n"
        f"print(any(p.rstrip('/').endswith('{package}') for p in traceback_util._exclude_paths))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.split() == ["True"]
