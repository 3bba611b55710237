"""The grid that `constparity matrix` prints: verdicts by construct and transformation."""

from __future__ import annotations

from collections.abc import Mapping

from parity_tests.transform_matrix import CONSTRUCTS, TRANSFORMS, UNDEFINED
from reports.rows import Campaign, ProgramRow, Verdict
from reports.rows.check_names import AGREE, EXPORT, RELOAD

# Columns that are no transformations: each shows a check of the cell under jit.
WAYS: Mapping[str, str] = {
    "ahead of time": AGREE,
    "export": EXPORT,
    "cache reload": RELOAD,
}


def grid(campaign: Campaign) -> dict[str, dict[str, Verdict | str]]:
    """Arrange the verdicts of a campaign over the matrix by construct, then by transformation.

    A cell is a verdict, "undefined" where JAX does not define it, "refused" where all sides refuse
    it alike, or "not tested".

    Example::

        found = run([transform_matrix.__name__], CampaignOptions(reload=True))
        grid(found)["scan"]["grad"]
    """
    rows = {row.name: row for row in campaign.programs}

    def cell(construct: str, transform: str) -> Verdict | str:
        if (construct, transform) in UNDEFINED:
            return "undefined"
        row = rows.get(f"{construct} under {transform}")
        return row.verdict if row else "not tested"

    return {
        construct: {
            **{transform: cell(construct, transform) for transform in TRANSFORMS},
            **{
                way: _outcome(rows.get(f"{construct} under jit"), check)
                for way, check in WAYS.items()
            },
        }
        for construct in CONSTRUCTS
    }


def _outcome(row: ProgramRow | None, check: str) -> Verdict | str:
    """Sum up the outcomes of one check over the sides of a program."""
    found = [each for item in (row.observations if row else ()) for each in item.checks]
    held = [each.holds for each in found if each.name == check]
    if not held:
        return "not tested"
    if any(held) != all(held):
        return "difference"
    return "parity" if all(held) else "refused"
