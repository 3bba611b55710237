"""Programs that a campaign did not finish, because its folder was full or went away.

What was measured before is still compared and reported; of these programs it is said why not.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence

from parity_tests.evidence.records import Evidence, Recorded
from reports.rows import SIDES, Side
from reports.views.measured import versions


def load(
    recorded: Mapping[Side, Recorded], sides: Sequence[Side]
) -> tuple[dict[Side, Evidence], str]:
    """Load the evidence of a program; the text says what of it is missing, "" where it has all.

    Observations are there in any case, for they are not in files alone.

    Example::

        load(records[0], ("legacy", "simplified"))[1] == ""
    """
    in_order = {side: recorded[side] for side in SIDES if side in recorded}
    missing = [side for side in sides if side not in recorded]
    told = {side: each.observation.measured_with for side, each in in_order.items()}
    if len({*told.values()} - {None}) > 1:
        each_side = "; ".join(f"{side} with {versions(one)}" for side, one in told.items() if one)
        why = f"its sides were not measured with the same: {each_side}"
    elif not missing:
        try:
            return {side: each.evidence() for side, each in in_order.items()}, ""
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            why = f"its arrays cannot be read any more ({error})"
    else:
        why = f"the campaign's folder took no results of it on {', '.join(missing)}"
    return {side: Evidence(each.observation) for side, each in in_order.items()}, why
