"""Numbers as text: rounded for the eye, and exact beside it."""

from __future__ import annotations

import math
from typing import Any

from reports.document import NOTHING, Cell
from reports.rows.metric_records import Unit
from reports.views.texts import cut

_WORDS_LENGTH = 120


def humanise_bytes(count: int) -> str:
    """Format bytes in the largest binary unit that leaves at least one.

    Example::

        >>> [humanise_bytes(count) for count in (0, 817, 34_406, 134_217_728)]
        ['0 B', '817 B', '33.6 KiB', '128 MiB']
    """
    if abs(count) < 1024:
        return f"{count} B"
    # 1023.6 KiB would be rounded to 1024 KiB, which is 1.0 MiB; hence the half.
    power = next((power for power in (1, 2, 3) if abs(count) < 1023.5 * 1024**power), 4)
    value, unit = count / 1024**power, ("KiB", "MiB", "GiB", "TiB")[power - 1]
    return f"{value:.1f} {unit}" if abs(value) < 99.95 else f"{value:,.0f} {unit}"


def humanise_count(count: float) -> str:
    """Format a large number that is known roughly, with two significant digits.

    Example::

        >>> [humanise_count(count) for count in (0, 63.7, 6400, 12_600_000)]
        ['0', '64', '6,400', '13 million']
    """
    rounded = float(f"{count:.2g}")
    power, name = next(
        (
            each
            for each in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
            if rounded >= each[0]
        ),
        (1.0, ""),
    )
    return f"{rounded / power:,.3g} {name}" if name else f"{rounded:,.0f}"


def humanise_seconds(seconds: float) -> str:
    """Format seconds with three significant digits, in the unit that suits them.

    Example::

        >>> [humanise_seconds(seconds) for seconds in (290.0, 1.434, 0.0451, 8.2e-06)]
        ['290 s', '1.43 s', '45.1 ms', '8.20 µs']
    """
    if not math.isfinite(seconds) or seconds == 0:
        return f"{seconds:g} s"
    # The bounds lie half a digit low, so that 999.96 ms becomes 1.00 s.
    units = ((0.9995, 1, "s"), (9.995e-4, 1e3, "ms"), (9.995e-7, 1e6, "µs"), (0, 1e9, "ns"))
    scale, unit = next((scale, unit) for bound, scale, unit in units if abs(seconds) >= bound)
    value = seconds * scale
    digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:,.{digits}f} {unit}"


def humanise_ratio(ratio: float) -> str:
    """Format a ratio of two measurements; 1.00x means equal.

    Example::

        >>> [humanise_ratio(ratio) for ratio in (1.0, 0.1234, 0.00062, 1611.0)]
        ['1.00x', '0.12x', '0.00062x', '1,611x']
    """
    if not math.isfinite(ratio):
        return f"{ratio:g}x"
    if abs(ratio) >= 99.95:
        return f"{ratio:,.0f}x"
    if abs(ratio) >= 9.995:
        return f"{ratio:.1f}x"
    return f"{ratio:.2f}x" if abs(ratio) >= 0.0995 or ratio == 0 else f"{ratio:.2g}x"


def humanise_share(share: float) -> str:
    """Format a share of one in per cent, with three significant digits.

    Example::

        >>> humanise_share(0.03125)
        '3.12%'
    """
    return f"{100 * share:.3g}%"


def humanise_index(index: tuple[int, ...]) -> str:
    """Format an index into an array as code writes it.

    Example::

        >>> humanise_index((0, 17))
        '[0, 17]'
    """
    return f"[{', '.join(map(str, index))}]"


def bytes_cell(count: int) -> Cell:
    """Make a cell of a size, with the exact number of bytes behind it."""
    return Cell(humanise_bytes(count), f"{count:,} bytes")


def seconds_cell(seconds: float) -> Cell:
    """Make a cell of a duration, with all its digits behind it."""
    return Cell(humanise_seconds(seconds), f"{seconds!r} s")


def count_cell(count: int) -> Cell:
    """Make a cell of a count, which needs no rounding."""
    return Cell(f"{count:,}")


def float_cell(value: float | None) -> Cell:
    """Make a cell of a float with three significant digits, with all of them behind it."""
    return Cell(f"{value:.3g}", repr(value)) if value is not None else NOTHING


def cell(value: Any, unit: Unit) -> Cell:
    """Make a cell of a metric's value in its unit; a dash where it was not measured.

    Example::

        >>> cell(1024, "bytes").text, cell(0.5, "seconds").text, cell(None, "count").text
        ('1.0 KiB', '500 ms', '-')
    """
    if value is None:
        return NOTHING
    if unit == "bytes":
        return bytes_cell(value)
    if unit == "seconds":
        return seconds_cell(value)
    return count_cell(value) if unit == "count" else Cell(cut(str(value), _WORDS_LENGTH))
