"""The rows of `constparity sites`: every captured array of a command, and where it is captured."""

from __future__ import annotations

from typing import Literal

from reports.rows.row import PlacedArray, Row


class Captured(PlacedArray):
    """The captured arrays of one type at one line; sizes in bytes.

    - `array`, `arrays`, `bytes`: their type, how many they are, and the size of one of them.
    - `programs`: the traced functions that capture them, as in "step at model.py:12".
    - `uses`: how many equations and outputs of these functions read one of them.
    - `lowered`: how many programs were lowered with them, in all processes.
    - `copies`: how many constants these programs hold as legacy lowers them.
    - `sites`: their numbers, for `constparity bisect --flip`.
    - `fixed`: why they cannot be flipped by themselves; "" where they can.
    """

    code: str = ""  # the text of the line; "" where it is not known
    arrays: int
    programs: tuple[str, ...]
    uses: int
    lowered: int
    copies: int
    sites: tuple[str, ...]
    fixed: str = ""

    @property
    def all_bytes(self) -> int:
        """The size of all of them together."""
        return self.arrays * self.bytes

    @property
    def copied_bytes(self) -> int:
        """The size of their copies."""
        return self.copies * self.bytes


class Sites(Row):
    """What a command captured.

    - `status`, `ended`: its exit status as a shell has it, and how it ended in words.
    - `captured`: the largest first; `smaller`: how many arrays are left out, below `min_bytes`.
    - `lowered`: how many programs that capture any were lowered, in all processes.
    - `not_reached`: arrays that JAX captures by itself, in control flow, checkpoints and
      derivatives outside of jit, and under `jax.pmap`.
    - `processes`: the versions of JAX, one for each process that could be read; `not_read`: why
      others could not.
    """

    kind: Literal["sites"] = "sites"
    schema_version: int = 1
    created: str  # ISO 8601, UTC
    constparity: str  # its version
    command: tuple[str, ...]
    status: int
    ended: str
    seconds: float
    captured: tuple[Captured, ...]
    min_bytes: int = 0
    smaller: int = 0
    lowered: int
    not_reached: tuple[str, ...] = ()
    processes: tuple[str, ...]
    not_read: tuple[str, ...] = ()
