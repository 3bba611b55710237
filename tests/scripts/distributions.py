"""Build the sdist and the wheel of a release, and use them as somebody who installs them.

    python tests/scripts/distributions.py build DIST
    python tests/scripts/distributions.py check DIST

`build` makes the wheel from the sdist, so that the sdist has all that a wheel needs. `check` holds
both to the files that git tracks, has twine read the metadata, and installs the wheel on each
Python of the classifiers into a clean environment, where it runs the engine and commands from a
folder of a user's. It prints a line for each Python, and exits with 1 where something is wrong or a
Python is not installed here.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

from uv import find_uv_bin

from parity_tests.environments import find_python, installers

ROOT = Path(__file__).parents[2]
PACKAGES = ("engine", "legacy_closedjaxpr", "parity_tests", "reports", "simplified_consts")
TWINE = "twine>=6.1,<7"
PROGRAM = """
import jax
import jax.numpy as jnp
from parity_tests import program

weights = jax.random.normal(jax.random.key(0), (64, 64))


@program(args=(jnp.ones(64),))
def step(x):
    return jnp.tanh(x @ weights)
"""
ENGINE = """
import sys
import jax, numpy as np
import engine, legacy_closedjaxpr, parity_tests, reports, simplified_consts

packages = engine, legacy_closedjaxpr, parity_tests, reports, simplified_consts
assert all(each.__file__.startswith(sys.prefix) for each in packages), packages
table = np.arange(4096, dtype=np.float32)
results = []
for mode, const_args in (("legacy", 0), ("simplified", 1)):
    fast = engine.jit(lambda x: x * table, constants=mode)
    results.append(np.asarray(fast(np.float32(2))))
    assert len(fast.lower(np.float32(2)).const_args) == const_args, mode
assert all((each == 2 * table).all() for each in results)
print(jax.__version__)
"""


class WrongError(Exception):
    """Something is wrong with the distributions; the message says what."""


def build(dist: Path) -> None:
    """Build the sdist, and from it the wheel."""
    shutil.rmtree(dist, ignore_errors=True)
    _uv("build", "--quiet", "--out-dir", str(dist), str(ROOT))
    print(*(f"{each.name}: {each.stat().st_size:,} bytes" for each in _both(dist)), sep="\n")


def check(dist: Path) -> int:
    """Check both, and return how many Pythons they did not run on."""
    sdist, wheel = _both(dist)
    check_files(sdist, wheel)
    print(_uv("tool", "run", "--from", TWINE, "twine", "check", "--strict", sdist, wheel))
    failed = 0
    for minor in minors():
        try:
            print(f"Python 3.{minor}: {run_on(minor, wheel)}", flush=True)
        except WrongError as error:
            failed += 1
            print(f"Python 3.{minor}: {error}", flush=True)
    return failed


def minors() -> list[int]:
    """Return the Pythons that the classifiers promise, by their minor versions."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = (re.fullmatch(r".*Python :: 3\.(\d+)", each) for each in project["classifiers"])
    return [int(each[1]) for each in found if each]


def check_files(sdist: Path, wheel: Path) -> None:
    """Raise `WrongError` unless the wheel has what git tracks of the packages, and the sdist too.

    A page, a schema or a template is missed as soon as a line of package-data is.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-z", *PACKAGES], cwd=ROOT, capture_output=True, text=True, check=True
    )
    tracked = set(listed.stdout.split("\0")) - {""}
    with zipfile.ZipFile(wheel) as opened:
        in_wheel = {name for name in opened.namelist() if ".dist-info/" not in name}
    with tarfile.open(sdist) as opened:
        names = (member.name.partition("/")[2] for member in opened if member.isfile())
        in_sdist = {name for name in names if not re.match(r"PKG-INFO|setup.cfg|.*egg-info/", name)}
    beside = {"LICENSE", "MANIFEST.in", "README.md", "pyproject.toml"}
    for name, found, expected in (
        (wheel.name, in_wheel, tracked),
        (sdist.name, in_sdist, tracked | beside),
    ):
        if found != expected:
            wrong = f"lacks {sorted(expected - found)}, and has besides {sorted(found - expected)}"
            raise WrongError(f"{name} {wrong}")


def run_on(minor: int, wheel: Path) -> str:
    """Install the wheel on a Python, use it from a user's folder, and say how long each took.

    Raises `WrongError`, also where there is no such Python.
    """
    # A JAX that has wheels for it; which one is installed, the wheel's own bounds say.
    jax = next(each for each in find_python.KNOWN[2:] if _runs(each, minor))
    try:
        python = find_python.find(jax, needs_venv=False, up_to=minor)
    except find_python.NoPythonError as error:
        raise WrongError(f"not checked: {error}") from error
    if python.version[1] != minor:
        raise WrongError("not checked: it is not installed here")
    with tempfile.TemporaryDirectory(prefix="constparity-dist-") as name:
        folder = Path(name)
        environment, users = folder / "environment", folder / "users"
        users.mkdir()
        (users / "my_model.py").write_text(PROGRAM)
        installers.make(python.path, environment)
        started = time.monotonic()
        installers.install(environment, [str(wheel)])
        installing = time.monotonic() - started
        files = (each for each in environment.rglob("*") if not each.is_symlink())
        size = sum(each.stat().st_size for each in files if each.is_file())
        release = _ran(environment, users, "python", "-I", "-c", ENGINE)
        seconds = ", ".join(_uses(environment, users))
        return (
            f"JAX {release}; installed in {installing:.0f} s, {size / 1e6:.0f} MB; the engine runs "
            f"in both modes; {seconds}"
        )


def _uses(environment: Path, users: Path) -> Iterator[str]:
    """Use commands as they are called most, and yield what each took."""
    report = ("--report", "html:report.html", "--report", "json:report.json")
    for arguments, code, part in (
        (("--help",), 0, "Usage: constparity"),
        (("doctor",), 0, "all is well"),
        (("prove", "my_model.py"), 0, "proof: 1 of 1 programs proved"),
        (("run", "my_model.py", "--no-times", *report), 0, "1 of 1 programs"),
        (("lint", "my_model.py"), 4, "constparity[lint]"),
        (("environments", "make", "0.8.3"), 2, "constparity[environments]"),
    ):
        started = time.monotonic()
        said = _ran(environment, users, "constparity", *arguments, code=code)
        if part not in said:
            raise WrongError(f"`constparity {' '.join(arguments)}` does not say {part!r}: {said}")
        yield f"{arguments[0]} {time.monotonic() - started:.1f} s"
    html, result = users / "report.html", users / "report.json"
    if "<script" not in html.read_text("utf-8") or "step" not in html.read_text("utf-8"):
        raise WrongError(f"the page has no program and no script: {html.stat().st_size} bytes")
    [row] = json.loads(result.read_text("utf-8"))["programs"]
    if row["verdict"] != "parity":
        raise WrongError(f"the program is not at parity: {row['verdict']}")


def _ran(environment: Path, users: Path, program: str, *arguments: str, code: int = 0) -> str:
    """Run a program of an environment in the user's folder; return what it printed."""
    store = {"CONSTPARITY_ENVIRONMENTS": str(users / "environments"), "NO_COLOR": "1"}
    file = environment / "bin" / program
    done = subprocess.run(
        [str(file), *arguments],
        cwd=users,
        env={"PATH": "/usr/bin:/bin", "HOME": str(users), "COLUMNS": "200", **store},
        capture_output=True,
        text=True,
        timeout=600,
    )
    if done.returncode != code:
        said = (done.stdout + done.stderr)[-2000:]
        raise WrongError(f"`{program} {arguments[0]}` exits with {done.returncode}: {said}")
    return (done.stdout + done.stderr).strip()


def _runs(jax: str, minor: int) -> bool:
    first, last = find_python.minors_for(jax)
    return first <= minor <= last


def _both(dist: Path) -> tuple[Path, Path]:
    try:
        [sdist], [wheel] = dist.glob("*.tar.gz"), dist.glob("*.whl")
    except ValueError as error:
        raise WrongError(f"{dist} has not one sdist and one wheel: run `make dist`") from error
    return sdist, wheel


def _uv(*arguments: object) -> str:
    _, variables = installers.pip_settings()
    ran = installers.run_command([find_uv_bin(), *map(str, arguments)], variables=variables)
    if ran.status:
        raise WrongError(f"uv {arguments[0]} fails: {ran.stderr}{ran.stdout}")
    return ran.stdout.strip()


def main() -> int:
    """Build, or check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("build", "check"))
    parser.add_argument("dist", type=Path)
    given = parser.parse_args()
    try:
        if given.what == "check":
            return min(check(given.dist), 1)
        build(given.dist)
    except WrongError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
