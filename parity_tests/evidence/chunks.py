"""Two large arrays in small pieces, so that what is computed of them takes little memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from parity_tests.evidence.floats import Array

# Elements: enough to make NumPy's calls cheap, few enough to stay in a cache of the processor.
CHUNK = 2**14


def in_chunks(*arrays: Array) -> Iterator[tuple[Array, ...]]:
    """Yield flat pieces of arrays of one shape, in C order; nothing of empty arrays.

    Example::

        all((a == b).all() for a, b in in_chunks(left, right))
    """
    flat = [each.ravel() for each in arrays]  # a view, but of arrays with gaps or another order
    for start in range(0, flat[0].size, CHUNK):
        yield tuple(each[start : start + CHUNK] for each in flat)


def have_equal_bytes(left: Array, right: Array) -> bool:
    """Say whether two arrays of one type hold the same bytes."""
    if left.size <= CHUNK:
        return left.tobytes() == right.tobytes()
    return all(a.tobytes() == b.tobytes() for a, b in in_chunks(left, right))


@dataclass
class Marked:
    """How many elements are marked, and the first of them, counted over the pieces in order."""

    count: int = 0
    first: int | None = None  # its place in C order
    _seen: int = 0

    def add(self, mask: Array) -> None:
        """Count the marks of the next piece."""
        if count := int(mask.sum()):
            self.count += count
            if self.first is None:
                self.first = self._seen + int(mask.argmax())
        self._seen += mask.size
