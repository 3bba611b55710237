"""List what a command captured: the sites that its processes told, by line and type."""

from __future__ import annotations

from collections.abc import Sequence

from parity_tests.bisect.running import EndedHere
from parity_tests.bisect.sites import Site, Told
from parity_tests.observe.environment import version
from reports.rows import now
from reports.rows.sites import Captured, Sites


def listed(command: Sequence[str], ended: EndedHere, min_bytes: int = 0) -> Sites:
    """Return what a command captured that ran with nothing flipped, the largest first.

    Arrays of fewer than `min_bytes` are only counted.
    """
    told = ended.told
    arrays = {site.id: site for site in told.sites.values() if site.kind == "array"}
    arrays |= {number: site for number, (site, _) in told.fixed.items()}
    groups: dict[tuple[str, int, str, str], list[Site]] = {}
    for site in sorted(arrays.values(), key=lambda each: (each.program, each.ordinal)):
        groups.setdefault((site.file, site.line, site.function, site.array), []).append(site)
    found = [_captured(group, told) for group in groups.values()]
    found.sort(key=lambda each: (-each.all_bytes, -each.copied_bytes, each.file, each.line))
    shown = tuple(each for each in found if each.bytes >= min_bytes)
    processes = told.processes
    return Sites(
        created=now(),
        constparity=version(),
        command=tuple(command),
        status=ended.exit_status,
        ended=ended.word,
        seconds=ended.seconds,
        captured=shown,
        min_bytes=min_bytes,
        smaller=sum(each.arrays for each in found) - sum(each.arrays for each in shown),
        lowered=told.lowered,
        not_reached=tuple(sorted(told.not_reached)),
        processes=tuple(each["version"] for each in processes if not each["error"]),
        not_read=tuple(
            sorted({each["error"] for each in processes if each["error"]} | {*told.not_switched})
        ),
    )


def _captured(group: Sequence[Site], told: Told) -> Captured:
    first = group[0]
    lowered: dict[str, int] = {}
    for site in group:
        times = len(told.copies.get(site.id, ()))
        lowered[site.program] = max(times, lowered.get(site.program, 0))
    fixed = dict.fromkeys(told.fixed[site.id][1] for site in group if site.id not in told.sites)
    return Captured(
        file=first.file,
        line=first.line,
        function=first.function,
        code=first.code,
        array=first.array,
        arrays=len({site.ordinal for site in group}),
        bytes=first.bytes,
        programs=tuple(lowered),
        uses=sum(site.uses for site in group),
        lowered=sum(lowered.values()),
        copies=sum(sum(told.copies.get(site.id, ())) for site in group),
        sites=tuple(site.id for site in group),
        fixed=", ".join(fixed),
    )
