"""The command `constparity schema`."""

from __future__ import annotations

import enum
import sys
from typing import Annotated

import typer


class Kind(enum.StrEnum):
    """What a report is of."""

    CAMPAIGN = "campaign"
    GRID = "grid"
    SUITE = "suite"
    SUITE_RUNS = "suite-runs"
    PROOFS = "proofs"


def schema(
    kind: Annotated[
        Kind,
        typer.Argument(
            help="A report of one campaign, of a grid over versions of JAX, of a test-suite in "
            "shadow mode, of one on stock JAX, or of proofs."
        ),
    ] = Kind.CAMPAIGN,
) -> None:
    """Print the JSON Schema of the JSON reports that this constparity writes.

    The package has the same text in the folder reports/schemas.

    Examples:

      constparity schema > campaign.schema.json

      constparity schema grid
    """
    from reports.output import json_file

    sys.stdout.write(json_file.render_schema(kind.value))
