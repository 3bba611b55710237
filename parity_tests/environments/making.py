"""Environments on request: one that is there is used, and one that is missing is made once.

environment = environment_for("0.12.0.1", ["flax"])
subprocess.run([environment.python, "my_model.py"])
"""

from __future__ import annotations

import atexit
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from parity_tests.environments import find_python, installers, requirements, store
from parity_tests.environments.find_python import InstalledPython
from parity_tests.environments.installers import InstallError
from parity_tests.environments.requirements import Requirement
from parity_tests.environments.store import Environment, FolderLock

# What a process that measures programs on stock JAX imports; flatbuffers is for exports.
NEEDS = ("numpy", "ml_dtypes", "flatbuffers", "psutil>=6", "pydantic>=2.10")
CONSTRAINTS = "constraints.txt"  # the file in an environment that was made with constraints
MEGABYTES = 600  # of one environment without packages of the user

Say = Callable[[str], None]

# Shows that JAX can be imported, and what is installed.
_LOOK = """
import json, sys
from importlib.metadata import distributions
import jax, jaxlib
print(json.dumps({
    "jax": jax.__version__,
    "jaxlib": jaxlib.__version__,
    "python_version": ".".join(map(str, sys.version_info[:3])),
    "packages": sorted({f"{each.name}=={each.version}" for each in distributions()}),
}))
"""

# Each environment that this process uses stays locked until the process ends.
_in_use: list[FolderLock] = []


@atexit.register
def _let_go() -> None:
    """Close the locks, for Python warns of files that are left open."""
    while _in_use:
        _in_use.pop().close()


class MakingError(ValueError):
    """An environment could not be made; the message says which, and the reason of uv."""


@dataclass(frozen=True)
class Plan:
    """The environment that is wanted: its JAX, the user's packages in it, and its place.

    `python` makes it; None where `path` has one that serves.
    """

    jax: str
    with_: tuple[Requirement, ...]
    path: Path
    python: InstalledPython | None

    @property
    def requested(self) -> str:
        """What identifies the packages that are installed."""
        return _requested(self.jax, self.with_)


def environment_for(
    jax: str,
    with_: Iterable[str | Requirement] = (),
    *,
    say: Say = lambda sentence: None,
) -> Environment:
    """Return the environment of a JAX version with packages of the user; make it if it is missing.

    It stays locked against removal until this process ends. Raises `NoPythonError`,
    `RequirementError` or `MakingError`, all of them ValueErrors, and leaves nothing then.
    """
    return environment_of(planned(jax, with_, say=say), say)


def planned(
    jax: str,
    with_: Iterable[str | Requirement] = (),
    *,
    say: Say = lambda sentence: None,
) -> Plan:
    """Find what an environment needs, before anything is made; "0.12" is its newest release.

    Raises as `environment_for` does.
    """
    packages = requirements.parsed(with_)
    if find_python.is_series(jax):
        jax = _newest(jax, say)
    for found in _newest_python_first():
        if found.requested == _requested(jax, packages):
            return Plan(jax, packages, found.path, None)
    python = find_python.find(jax, needs_venv=False)
    return Plan(jax, packages, store.store_folder() / _name(jax, packages, python), python)


def environment_of(plan: Plan, say: Say) -> Environment:
    """Return the environment of a plan; make it if it is missing. Raises `MakingError`."""
    lock = FolderLock(plan.path)
    is_held = False

    def wait() -> None:
        say(f"waiting for another process, which has {plan.path}")

    try:
        while True:
            lock.share(wait)
            found = store.finished(plan.path)
            if found is not None and found.requested == plan.requested:
                is_held = True
                return found
            lock.exclude(wait)
            found = store.finished(plan.path)
            if found is None or found.requested != plan.requested:
                _make(plan, lock, say)
    finally:
        if is_held:
            _in_use.append(lock)
        else:
            lock.close()


def _make(plan: Plan, lock: FolderLock, say: Say) -> None:
    """Make the environment of a plan, whose folder this process alone may touch."""
    python = plan.python or find_python.find(plan.jax, needs_venv=False)
    store.delete_abandoned(plan.path.parent)
    store.delete(plan.path)
    started = time.monotonic()
    try:
        installers.uv_path()  # else it would be announced, and then not there
        say(_announced(plan, python))
        fds = (lock.fileno(),)
        installers.make(python.path, plan.path, fds)
        own = [argument for each in plan.with_ for argument in each.arguments]
        limits = _constraints_file(plan)
        installers.install(plan.path, [*limits, f"jax=={plan.jax}", *NEEDS, *own], fds)
        store.finish(_looked_at(plan))
    except InstallError as error:
        raise MakingError(f"no environment of {_named(plan)}: {error}") from error
    finally:
        if store.finished(plan.path) is None:
            store.delete(plan.path)
    megabytes = store.size(plan.path) / 1e6
    seconds = time.monotonic() - started
    say(f"made {plan.path.name}: {megabytes:,.0f} MB, {seconds:.0f} seconds")


def _constraints_file(plan: Plan) -> list[str]:
    """Write the constraints of a plan into its environment; return the arguments that name them."""
    lines = [each.constraints for each in plan.with_ if each.constraints]
    if not lines:
        return []
    file = plan.path / CONSTRAINTS
    file.write_text("\n".join(lines), "utf-8")
    return ["-c", str(file)]


def _looked_at(plan: Plan) -> Environment:
    """Describe an environment by what is installed there. Raises `InstallError`."""
    ran = installers.run_command([str(plan.path / "bin" / "python"), "-I", "-c", _LOOK])
    if ran.status:
        last = ran.stderr.strip().splitlines()[-1:]
        raise InstallError(f"JAX cannot be imported there: {' '.join(last)}")
    found = json.loads(ran.stdout.splitlines()[-1])
    if found["jax"] != plan.jax:
        raise InstallError(f"uv has installed JAX {found['jax']} there")
    return Environment(
        path=plan.path,
        requested=plan.requested,
        with_=tuple(each.text for each in plan.with_),
        made=datetime.now(UTC),
        **found,
    )


def _newest(series: str, say: Say) -> str:
    """Return the newest release of a series. Raises `MakingError`."""
    python = find_python.find(series, needs_venv=False)
    try:
        release = installers.newest(python.path, series)
    except InstallError as error:
        there = sorted(
            {each.jax for each in _newest_python_first() if each.jax.startswith(f"{series}.")}
        )
        way_out = f"; name a release that is there: {', '.join(there)}" if there else ""
        raise MakingError(
            f"the newest release of JAX {series} is not known: {error}{way_out}"
        ) from error
    say(f"JAX {series}: the newest release is {release}")
    return release


def _newest_python_first() -> list[Environment]:
    """Return the finished environments."""
    return sorted(
        store.environments(store.store_folder()),
        key=lambda each: [int(number) for number in each.python_version.split(".")],
        reverse=True,
    )


def _requested(jax: str, with_: Sequence[Requirement]) -> str:
    what = [jax, NEEDS, [(each.arguments, each.content) for each in with_]]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()


def _name(jax: str, with_: Sequence[Requirement], python: InstalledPython) -> str:
    major, minor, _ = python.version
    name = f"jax-{jax}-python{major}.{minor}"
    return f"{name}-with-{_requested(jax, with_)[:8]}" if with_ else name


def _named(plan: Plan) -> str:
    own = ", ".join(each.text for each in plan.with_)
    return f"JAX {plan.jax}" + (f" with {own}" if own else "")


def _announced(plan: Plan, python: InstalledPython) -> str:
    more = " and the packages" if plan.with_ else ""
    return (
        f"making an environment of {_named(plan)} for Python {python.text}, with uv: "
        f"about {MEGABYTES} MB{more} in {plan.path}, about a minute"
    )
