"""What two runs of a store were measured alike in, and so what may be judged between them."""

from __future__ import annotations

from dataclasses import dataclass

from parity_tests.judge.sides import flipped, pairs_of
from reports.rows import SIDES
from reports.rows.history import StoredRun

# Of an environment, what makes a machine. The other fields are versions.
_HARDWARE = frozenset(
    {"backend", "device_kind", "device_count", "cpu_count", "system", "cpu"}
)  # fmt: skip


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


def provenance_of(left: StoredRun, right: StoredRun) -> tuple[Alike, list[str]]:
    """Return what was alike, and a line for each way in which the runs were not."""
    ours, theirs = left.environment.model_dump(), right.environment.model_dump()
    other = {name: (ours[name], theirs[name]) for name in ours if ours[name] != theirs[name]}
    hardware = [_differs(name, *each) for name, each in other.items() if name in _HARDWARE]
    if left.machine and right.machine and left.machine != right.machine:
        hardware.insert(0, _differs("machine", left.machine, right.machine))
    hardware += [
        f"the machine of {each.label} is not recorded" for each in (left, right) if not each.machine
    ]
    versions = [_differs(name, *each) for name, each in other.items() if name not in _HARDWARE]
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


def _differs(name: str, left: object, right: object) -> str:
    return f"{name.replace('_', ' ')} {left or 'unknown'} and {right or 'unknown'}"


def _other_settings(left: StoredRun, right: StoredRun) -> list[str]:
    unknown = [each.label for each in (left, right) if each.settings is None]
    if unknown or left.settings is None or right.settings is None:
        return [f"those of {' and '.join(unknown)} are not recorded"]
    names = dict.fromkeys([*left.settings, *right.settings])
    pairs = {name: (left.settings.get(name), right.settings.get(name)) for name in names}
    return [
        f"{name} {'unset' if a is None else a} and {'unset' if b is None else b}"
        for name, (a, b) in pairs.items()
        if a != b
    ]
