"""A program that reads jaxprs or the flag, traced in both forms: what it read in each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

import jax
from jax.experimental.xla_metadata import set_xla_metadata

from parity_tests.advice import advice
from parity_tests.observe.jaxpr_reads import FLAG, Reads, Seen, Site
from reports.rows import Hazard, HazardKind

_numbers = count()


@dataclass(frozen=True)
class Told:
    """A line that reads something else in each form, and what it reads in each.

    `changes` says that the program is another one for it, as far as that can be told. `in_calls`
    says that it was read while the program was called, where it may decide anything.
    """

    site: Site
    before: Seen
    after: Seen
    changes: bool
    in_calls: bool = False


@dataclass(frozen=True)
class BothForms:
    """What one program read while it was traced in legacy form, and in simplified form.

    `changes` says that the traced program is another one in the two forms, or that it is traced in
    legacy form alone. `at_import` has the reads of its module that it depends on. `in_calls` says
    that the program was called, on a side before the flip and on one after it.
    """

    legacy: Reads = field(default_factory=Reads)
    simplified: Reads = field(default_factory=Reads)
    changes: bool = False
    at_import: tuple[tuple[Site, Seen, Seen], ...] = ()
    in_calls: bool = False

    def told(self) -> Iterator[Told]:
        """Yield the lines that tell the forms apart, those that read last first."""
        for site in self.simplified.sites():
            before, after = self.legacy.of(site), self.simplified.of(site)
            pairs = zip(before, after, strict=False)
            other = next(((one, two) for one, two in pairs if one != two), None)
            if other is not None:
                yield Told(site, *other, self.changes, self.in_calls)
        for read in self.at_import:
            yield Told(*read, changes=True)


@contextmanager
def in_form(simplified: bool) -> Iterator[None]:
    """Trace in one form, whichever side this process was started for.

    The flag at run time gives the right jaxpr and the wrong module; nothing may be lowered here.
    """
    before = getattr(jax.config, FLAG)
    variable = os.environ.get(FLAG.upper())
    jax.config.update(FLAG, simplified)
    os.environ[FLAG.upper()] = "1" if simplified else "0"
    try:
        # JAX looks its traces up by the metadata, too. So a function that it has traced before, for
        # a measurement or in another program, is traced again and read again.
        with set_xla_metadata(constparity_trace=str(next(_numbers))):
            yield
    finally:
        jax.config.update(FLAG, before)
        if variable is None:
            del os.environ[FLAG.upper()]
        else:
            os.environ[FLAG.upper()] = variable


def read_at(
    kind: HazardKind, told: Told, name: str, sees: str, fix: str, *, decides: bool = False
) -> Hazard:
    """Return the row of one line that reads something else in each form.

    With `decides`, it may decide something although the program is traced alike in this process.
    """
    place, caller = told.site.place, told.site.caller
    called = f", called from {caller.file}:{caller.line}" if caller.file else ""
    decides = decides or told.changes or told.in_calls
    alike = "" if decides else "; the program is traced alike in both forms"
    return Hazard(
        kind=kind,
        file=place.file,
        line=place.line,
        array=name,
        what=f"{name} is read at {place.file}:{place.line}{called}: {sees}{alike}",
        fix=fix if decides else advice("nothing"),
        changes_program=told.changes,
    )
