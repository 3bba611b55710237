"""The libraries of a spec as corpora: their suites run, some at once, and each costs no other.

A library that leaves no programs is left out, and said. A campaign that is gone on with has the
libraries that it began with, so that its programs stay the same.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from parity_tests.campaign.ecosystem import LibraryError, Programs, Say, Suite, gather
from parity_tests.campaign.spec import CorpusSpec, LibrarySpec, Spec, SpecError
from reports.rows.plan import PlanLibrary

_POLL_SECONDS = 0.1
_Found = TypeVar("_Found")


@dataclass(frozen=True)
class WithLibraries:
    """What each library came to, and a spec with them as corpora; its libraries are left out."""

    spec: Spec
    libraries: tuple[PlanLibrary, ...]


def with_libraries(
    spec: Spec,
    folder: Path,
    jax: str,
    say: Say,
    *,
    jobs: int = 1,
    before: Sequence[PlanLibrary] | None = None,
) -> WithLibraries:
    """Return a spec whose libraries are corpora of the programs that their suites compile.

    What is not gathered yet in `folder` is, on the release `jax` of JAX, at most `jobs` suites at a
    time. `before` has the libraries of a campaign that is gone on with: what it left out stays out.
    Raises `SpecError` where nothing is left, or where this campaign has programs of a library that
    cannot be gathered now.

    Example::

        with_libraries(read_spec(file), Path("ecosystem"), "0.10.2", print).spec.corpus
    """
    is_alone = len(spec.library) == 1 and not spec.corpus

    def on_error(error: LibraryError) -> None:
        if before is not None:
            raise SpecError(
                f"{error}; the campaign that goes on has programs of it: --anew begins without"
            ) from error
        if not is_alone:
            say(f"{error}; the campaign goes on without it")

    results = {each.name: each for each in before or () if each.left_out}
    for each in results.values():
        say(
            f"library {each.name!r} is left out, as when this campaign began: {each.left_out}; "
            f"-k {each.name} takes it alone, and --anew begins with all"
        )
    wanted = [each for each in spec.library if each.name not in results]
    found = _all_gathered(wanted, folder, jax, say, jobs, on_error)
    corpora = []
    for library in wanted:
        of_it = found[library.name]
        results[library.name] = _result(library, of_it)
        if isinstance(of_it, Programs):
            targets = (str(of_it.folder.absolute()),)
            corpora.append(CorpusSpec(name=library.name, targets=targets))
    errors = [each for each in found.values() if isinstance(each, LibraryError)]
    if errors and not corpora and not spec.corpus:
        raise SpecError("; ".join(map(str, errors))) from errors[0]
    left_out = tuple(each for each in spec.library if results[each.name].left_out)
    return WithLibraries(
        spec.model_copy(update={"corpus": (*spec.corpus, *corpora), "library": left_out}),
        tuple(results[each.name] for each in spec.library),
    )


def _result(library: LibrarySpec, found: Programs | LibraryError) -> PlanLibrary:
    named = PlanLibrary(name=library.name, version=library.version)
    if isinstance(found, LibraryError):
        return named.model_copy(update={"left_out": found.why})
    of_suite = found.gathered
    return named.model_copy(update={"programs": of_suite.programs, "failures": of_suite.failures})


def _all_gathered(
    libraries: Sequence[LibrarySpec],
    folder: Path,
    jax: str,
    say: Say,
    jobs: int,
    on_error: Callable[[LibraryError], object],
) -> dict[str, Programs | LibraryError]:
    """Gather libraries, and return what each came to by its name."""
    found: dict[str, Programs | LibraryError] = {}
    waiting, busy, going = deque(libraries), deque[LibrarySpec](), list[Suite]()

    def keep(library: LibrarySpec, outcome: Programs | LibraryError) -> None:
        found[library.name] = outcome
        if isinstance(outcome, LibraryError):
            on_error(outcome)

    try:
        while waiting or busy or going:
            if (waiting or busy) and len(going) < jobs:
                # Folders that others have come last. Two campaigns that wait for each other with
                # suites at work would wait forever.
                may_wait = not (waiting or going)
                library = (waiting or busy).popleft()
                on = library.jax or jax
                outcome = _tried(partial(gather, library, folder, on, say, may_wait=may_wait))
                if isinstance(outcome, Suite):
                    going.append(outcome)
                elif outcome is not None:
                    keep(library, outcome)
                else:
                    busy.append(library)
            for suite in list(going):
                ended = _tried(partial(suite.programs, say))
                if ended is not None:
                    going.remove(suite)
                    keep(suite.library, ended)
            if going:
                time.sleep(_POLL_SECONDS)
    finally:
        for suite in going:
            suite.end()
    return found


def _tried(call: Callable[[], _Found]) -> _Found | LibraryError:
    try:
        return call()
    except LibraryError as error:
        return error
