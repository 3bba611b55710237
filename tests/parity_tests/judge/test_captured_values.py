"""Captured arrays that two sides do not share are named by type and line, not by a digest."""

from parity_tests.judge.comparison import told_apart
from parity_tests.judge.sides import Pair
from reports.rows import CapturedArray, JaxprCounts, Observation


def array(sha256, line=3):
    return CapturedArray(
        file="model.py", line=line, function="step", shape=(3,), dtype="float32", bytes=12,
        sharding="", sha256=sha256, uses=1, fate="hoisted", copies=1,
    )  # fmt: skip


def pair(left, right):
    observed = (
        Observation(
            program="p",
            side=side,
            ledger=ledger,
            jaxpr=JaxprCounts(equations=1, captured_arrays=len(ledger), captured_bytes=12),
        )
        for side, ledger in (("jax-legacy", left), ("jax-simplified", right))
    )
    return Pair(*observed)


def test_the_arrays_that_one_side_alone_has_are_named():
    shared, other, another = array("a"), array("b", line=7), array("c", line=7)
    found = told_apart(pair((shared, other), (another, shared)))
    assert found == ("float32[3] at model.py:7",) * 2
    assert told_apart(pair((shared, other), (shared,))) == (
        "float32[3] at model.py:7",
        "1 captured array",
    )


def test_arrays_without_digests_of_their_own_are_counted():
    large = array("")
    assert told_apart(pair((large, large), (large, large))) == ("2 captured arrays",) * 2
