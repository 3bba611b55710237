"""The rows of the benchmark by their numbers. A new row is a file with a `ROW`, and a line here."""

from __future__ import annotations

from parity_tests.bench import (
    closures,
    compile_time,
    first_call,
    one_buffer,
    peak_memory,
    steady_call,
)
from parity_tests.bench.row import Row

ROWS: dict[int, Row] = {
    each.ROW.number: each.ROW
    for each in (steady_call, first_call, one_buffer, closures, peak_memory, compile_time)
}
