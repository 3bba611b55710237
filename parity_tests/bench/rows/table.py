"""The rows of the benchmark by number. A new row is a file with a `ROW`, and a line here."""

from __future__ import annotations

from parity_tests.bench.row import Row
from parity_tests.bench.rows import (
    closures,
    compile_time,
    equal_arrays,
    first_call,
    one_buffer,
    peak_memory,
    preamble,
    preamble_choice,
    proposed_policy,
    steady_call,
)

ROWS: dict[int, Row] = {
    each.number: each
    for each in (
        steady_call.ROW,
        first_call.ROW,
        one_buffer.ROW,
        equal_arrays.ROW,
        closures.ROW,
        peak_memory.ROW,
        preamble.ROW,
        preamble_choice.ROW,
        proposed_policy.ROW,
        compile_time.ROW,
    )
}
