"""Where two sets of results come from: what they were not measured alike in.

Results of other sources, versions or machines may be compared, but a reader must know it. Times
may not: nobody could tell the difference from that of the sides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from parity_tests.evidence.saved import Saved
from parity_tests.judge.sides import flipped, pairs_of
from reports.rows import SIDES, Environment
from reports.rows.history import StoredRun

# Of an environment, what makes a machine. The other fields are versions.
_HARDWARE = frozenset(
    {"backend", "device_kind", "device_count", "cpu_count", "system", "cpu"}
)  # fmt: skip
_NAMES_SHOWN = 3


def provenance_of_saved(left: Saved, right: Saved) -> tuple[set[str], tuple[str, ...]]:
    """Return the names of the programs whose times are not judged, and lines that say why not.

    Example::

        provenance_of_saved(left, right)[1]
        # ("provenance: not measured alike: jax 0.10.2 and 0.10.3; times are not judged",)
    """
    other = [
        *differing(left.campaign.environment, right.campaign.environment).values(),
        *_other_settings_of_saved(left, right),
    ]
    of_left, of_right = left.rows(), right.rows()
    both = [name for name in of_left if name in of_right]
    sources = [name for name in both if of_left[name].digest != of_right[name].digest]
    lines = []
    if other:
        what = "; ".join(other)
        lines.append(f"provenance: not measured alike: {what}; times are not judged")
    if sources:
        more = len(sources) - _NAMES_SHOWN
        names = ", ".join(sources[:_NAMES_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
        lines.append(
            f"provenance: other sources of {len(sources):,} of {len(both):,} programs ({names}); "
            "their times are not judged"
        )
    return {*of_left, *of_right} if other else set(sources), tuple(lines)


@dataclass(frozen=True)
class Alike:
    """What two runs were measured alike in, and so what may be judged between them."""

    machine: bool
    versions: bool
    settings: bool
    flip: bool  # of the same two sides

    @property
    def figures(self) -> bool:
        """Whether sizes of one side are judged."""
        return self.machine and self.versions

    @property
    def times(self) -> bool:
        """Whether times of one side are judged."""
        return self.figures and self.settings


def provenance_of_runs(left: StoredRun, right: StoredRun) -> tuple[Alike, list[str]]:
    """Return what was alike, and a line for each way in which the runs were not."""
    other = differing(left.environment, right.environment)
    hardware = [each for name, each in other.items() if name in _HARDWARE]
    if left.machine and right.machine and left.machine != right.machine:
        hardware.insert(0, _differs("machine", left.machine, right.machine))
    hardware += [
        f"the machine of {each.label} is not recorded" for each in (left, right) if not each.machine
    ]
    versions = [each for name, each in other.items() if name not in _HARDWARE]
    settings = _other_settings(left, right)
    lines = []
    if hardware:
        lines.append(
            f"other machines: {'; '.join(hardware)}; times, sizes and costs of the flip are not "
            "judged"
        )
    if versions:
        lines.append(
            f"other versions: {'; '.join(versions)}; times and sizes of a side are not judged"
        )
    if settings:
        lines.append(f"other settings: {'; '.join(settings)}; times are not judged")
    for each in (left, right):
        if not each.finished and each.id is not None:
            lines.append(
                f"{each.label} has no end: {each.programs} of {each.planned} programs were "
                "finished, and judged without the runs that come last"
            )
    lines += [
        f"{side} was run in {left.label if side in left.sides else right.label} alone"
        for side in SIDES
        if (side in left.sides) != (side in right.sides)
    ]
    flips = [flipped(pairs_of(each.sides)) for each in (left, right)]
    if flips[0] != flips[1]:
        told = " and ".join(" against ".join(each) if each else "nothing" for each in flips)
        lines.append(f"the flip was judged on other sides, {told}: no program is comparable")
    alike = Alike(not hardware, not versions, not settings, flips[0] == flips[1])
    return alike, lines


def differing(left: Environment, right: Environment) -> dict[str, str]:
    """Return what two environments differ in by the name of the fact, with both values.

    Example::

        differing(before, after) == {"jax": "jax 0.10.2 and 0.12.0"}
    """
    ours, theirs = left.model_dump(), right.model_dump()
    return {
        name: _differs(name, value, theirs[name])
        for name, value in ours.items()
        if value != theirs[name]
    }


def _differs(name: str, left: object, right: object) -> str:
    return f"{name.replace('_', ' ')} {left or 'unknown'} and {right or 'unknown'}"


def _other_settings_of_saved(left: Saved, right: Saved) -> list[str]:
    for each in (left, right):
        if each.campaign.settings is None:
            return [f"settings of {each.path} not recorded"]
    ours, theirs = (
        {name: each for name, each in (saved.campaign.settings or {}).items() if _moves(name)}
        for saved in (left, right)
    )
    return other_settings(ours, theirs)


def _moves(setting: str) -> bool:
    """Say whether figures depend on a setting of a campaign."""
    return setting not in ("attribute", "flips")


def _other_settings(left: StoredRun, right: StoredRun) -> list[str]:
    unknown = [each.label for each in (left, right) if each.settings is None]
    if unknown or left.settings is None or right.settings is None:
        return [f"those of {' and '.join(unknown)} are not recorded"]
    return other_settings(left.settings, right.settings)


def other_settings(left: Mapping[str, str], right: Mapping[str, str]) -> list[str]:
    """Return which settings are others, with both values.

    Example::

        >>> other_settings({"fresh": "True"}, {})
        ['fresh True and unset']
    """
    pairs = {name: (left.get(name), right.get(name)) for name in dict.fromkeys([*left, *right])}
    return [
        f"{name} {'unset' if a is None else a} and {'unset' if b is None else b}"
        for name, (a, b) in pairs.items()
        if a != b
    ]
