"""The seven hooks: importing a file patches nothing, `engine/__init__` installs them once."""

import subprocess
import sys

import pytest
from jax._src.config import use_simplified_jaxpr_constants as flag  # noqa: TID251
from program_files import script_file

import engine
from engine.jax_internals import hooks


def changed_by(action):
    done = subprocess.run(
        [sys.executable, str(script_file("hooks_put_into_jax")), action],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return set(done.stdout.split())


def test_importing_a_file_patches_nothing():
    assert changed_by("every module") == set()


def test_importing_the_engine_installs_the_hooks():
    assert changed_by("engine") == {
        "new_const", "pure", "lift", "is_literalable", "implementation", "transposition",
        "jit_trace", "cached_compilation", "flag", "hidden",
    }  # fmt: skip


def test_what_is_installed_is_not_installed_again():
    before = engine.jax_internals.stock_jit
    assert hooks.install.cache_info().currsize == 1
    assert changed_by("engine again") == set()
    assert engine.jax_internals.stock_jit is before


@pytest.mark.parametrize("module", ["jax._src.core", "jaxlib.mlir", "engine.api"])
def test_jax_and_the_engine_read_the_value_of_the_flag_itself(side, module):
    """Only others get the side that is traced."""
    code = compile("found.append(flag.value)", "reader.py", "exec")
    found = []

    def fun(x):
        for name in (module, "jaxopt.base", "__main__"):
            exec(code, {"__name__": name, "found": found, "flag": flag})
        return x

    engine.jit(fun, constants=side)(1.0)
    assert found == [False, *[side == "simplified"] * 2]


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
