"""Options as records: a command takes a dataclass, and each field of it is an option."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any, get_type_hints


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that has the fields of the records it takes as options, in their place.

    Example::

        @dataclass(frozen=True)
        class Display:
            quiet: Quiet = False

        def run(context: typer.Context, display: Display) -> None: ...

        app.command()(with_options(run))  # constparity run --quiet
    """
    taken = inspect.signature(command, eval_str=True).parameters.values()
    records: dict[str, Any] = {
        each.name: each.annotation for each in taken if dataclasses.is_dataclass(each.annotation)
    }

    @functools.wraps(command)
    def called(**given: Any) -> None:
        for name, record in records.items():
            fields = [each.name for each in dataclasses.fields(record)]
            given[name] = record(**{field: given.pop(field) for field in fields})
        command(**given)

    options = [
        option
        for each in taken
        for option in (_options_of(each.annotation) if each.name in records else (each,))
    ]
    called.__dict__["__signature__"] = inspect.Signature(options)
    called.__annotations__ = {each.name: each.annotation for each in options}
    return called


def _options_of(record: Any) -> list[inspect.Parameter]:
    types = get_type_hints(record, include_extras=True)
    return [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=each.default,
            annotation=types[each.name],
        )
        for each in dataclasses.fields(record)
    ]
