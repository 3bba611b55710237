"""List the programs that targets name, in processes that import their modules.

One process imports module after module. Where the import of one changes the settings of the
process, or ends it, another process goes on with the rest: no file costs another anything.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from parity_tests import targets
from parity_tests.evidence.folder_layout import ProcessFiles
from parity_tests.processes import worker_process
from parity_tests.processes.one_question import ask
from parity_tests.processes.options import Limits
from parity_tests.processes.protocol import Listed, Listing, ListPrograms, write
from parity_tests.processes.worker_process import Lost


class ListingError(RuntimeError):
    """The process that lists the programs died; the message has the end of what it printed."""


def list_programs(targets_: Sequence[str], folder: Path, limits: Limits) -> Listing:
    """List the programs of targets, or of the built-in corpus where there are none.

    A module that cannot be imported is an entry beside the programs of the others. The listing has
    an `error` where a target is wrong, and where no module can be imported. Raises `ListingError`
    where the process of the only module dies or does not end within its limits, and where JAX is
    not installed; `TargetError` where a directory has no programs.

    Example::

        list_programs(["my_model.py"], folder, Limits(60)).programs[0].name
    """
    if limits.python is None and importlib.util.find_spec("jax") is None:
        raise ListingError(f"{sys.executable} has no JAX: install it there, as pip install jax")
    parts = targets.parts(targets_)
    answers, imported = _answers(parts, folder, limits)
    if wrong := next((each for each in answers if each.error is not None), None):
        return wrong
    programs = {each.target: each for one in answers for each in one.programs}
    failed = [text for part in parts if part in programs and (text := programs[part].unavailable)]
    described = next((each for each in answers if each.environment is not None), Listing())
    return described.model_copy(
        update={
            "programs": _named([*programs.values()]),
            "error": "\n".join(failed) if failed and len(failed) == len(programs) else None,
            "traceback": "\n".join(each.traceback for each in answers if each.traceback),
            "left": (),
            "imported": {each: targets.digest_of(Path(each)) for each in imported},
        }
    )


def _answers(
    parts: tuple[str, ...], folder: Path, limits: Limits
) -> tuple[list[Listing], list[str]]:
    """Ask one process after the other, until every part is listed; return what they imported, too.

    A process that is lost while it imports its first part has lost this part alone.
    """
    answers: list[Listing] = []
    folders: list[Path] = []
    waiting = [parts]
    while waiting:
        asked = waiting.pop()
        folders.append(folder / str(len(folders)) if folders else folder)
        folders[-1].mkdir(exist_ok=True)
        answer = ask(ListPrograms(targets=asked), "jax-legacy", folders[-1], limits)
        if isinstance(answer, Listing):
            answers.append(answer)
            left = [answer.left]
        elif answer.stage in asked[1:]:
            at = asked.index(answer.stage)
            left = [asked[at:], asked[:at]]
        elif len(parts) > 1 and answer.stage in asked:
            ending = _ending(asked[0], answer, limits)
            lost = Listed(name=asked[0], target=asked[0], unavailable=ending)
            answers.append(Listing(programs=(lost,)))
            left = [asked[1:]]
        else:
            what = " ".join(parts) or "the built-in corpus"
            raise ListingError(f"{_ending(what, answer, limits)}\n{answer.log}")
        waiting += [each for each in left if each]
    return answers, _join_imported(folders)


def _ending(what: str, lost: Lost, limits: Limits) -> str:
    if lost.kind == "timeout":
        seconds = worker_process.START_SECONDS + limits.timeout
        return (
            f"importing {what}: no end in {seconds:g} seconds; does a module wait for something "
            "when it is imported?"
        )
    where = lost.failure().where
    return f"importing {what}: {lost.ending}{f' ({where})' if where else ''}"


def _named(programs: Sequence[Listed]) -> tuple[Listed, ...]:
    """Name those that share a name by their targets."""
    programs_of = Counter(each.name for each in programs)
    return tuple(
        each if programs_of[each.name] == 1 else each.model_copy(update={"name": each.target})
        for each in programs
    )


def _join_imported(folders: Sequence[Path]) -> list[str]:
    """Return the files that any of the processes has imported; leave them in the first folder."""
    files = [ProcessFiles(each).imported for each in folders]
    found = {each for file in files if file.exists() for each in json.loads(file.read_bytes())}
    write(files[0], json.dumps(sorted(found)))
    return sorted(found)
