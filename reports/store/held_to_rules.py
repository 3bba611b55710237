"""The programs of a plan held to rules: those that they were measured with, or others since."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence

from reports.output import json_file
from reports.rows.fail_rules import FailRule
from reports.rows.plan import BrokenRule
from reports.store.finished import broken_rules, broken_without_row
from reports.store.plan_records import StoredPlan


def broken_of(
    connection: sqlite3.Connection, plan: StoredPlan, rules: Sequence[FailRule]
) -> tuple[BrokenRule, ...]:
    """Return the rules that programs of a plan break, each with their number, in their order.

    Other rules than those of the plan are asked of each row, some hundreds of them a second.
    """
    counts: Counter[str] = Counter()
    if plan.rules == tuple(each.text for each in rules):
        query = "SELECT broken FROM planned WHERE plan = ? AND broken != ''"
        for (texts,) in connection.execute(query, (plan.id,)):
            counts.update(json.loads(texts))
    else:
        for _, texts in broken_by_place(connection, plan.id, rules):
            counts.update(texts)
    return tuple(
        BrokenRule(rule=each.text, status=each.status, programs=counts[each.text])
        for each in rules
        if counts[each.text]
    )


def broken_by_place(
    connection: sqlite3.Connection, plan: int, rules: Sequence[FailRule]
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Ask each program of a plan that was run which rules it breaks, by its row."""
    found = connection.execute(
        "SELECT planned.place, state, row FROM planned "
        "LEFT JOIN rows ON rows.run = planned.run AND rows.place = planned.place "
        "WHERE plan = ? AND state NOT IN ('not run', 'lost')",
        (plan,),
    )
    for place, state, packed in found:
        if packed is None:
            yield place, broken_without_row(state, rules)
        else:
            row = json_file.program_of(zlib.decompress(packed).decode("utf-8"))
            yield place, broken_rules(row, state, rules)
