"""The command `constparity schema`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from parity_tests.cli.completion import one_of
from reports.kinds import KINDS_READ

_NAMES = [each.name for each in KINDS_READ]


def schema(
    kind: Annotated[
        str,
        typer.Argument(
            autocompletion=one_of(lambda: _NAMES),
            help=f"What the report is of: {', '.join(_NAMES)}.",
        ),
    ] = "campaign",
) -> None:
    """Print the JSON Schema of the JSON reports that this constparity writes.

    The package has the same text in the folder reports/schemas.

    Examples:

      constparity schema > campaign.schema.json

      constparity schema grid
    """
    from reports.output import json_file

    if kind not in _NAMES:
        raise typer.BadParameter(f"no kind {kind!r}; the kinds are {', '.join(_NAMES)}")
    sys.stdout.write(json_file.render_schema(kind))
