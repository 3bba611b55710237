"""What follows where the reference interpreter evaluates two modules that are written apart."""

import ml_dtypes
import numpy as np
import pytest

from parity_tests.evidence.values import Value
from parity_tests.judge.proofs import Evaluation, with_evaluation
from reports.rows.claims import Claim, Evaluated, OtherBits

PARTED = Claim(of="module", answer="parted", reason="the numbers differ", before="a", after="b")
ONE = np.float32([1.0, 2.0, 3.0])
BF16, INT4 = ml_dtypes.bfloat16, ml_dtypes.int4


def floats(*bits):
    return np.uint32(bits).view(np.float32)


def evaluation(digest, *arrays, why_not="", names=("its own arguments", "sample 1")):
    results = {name: [Value("[0]", each)] for name, each in zip(names, arrays, strict=False)}
    return Evaluation(digest, results, why_not)


def of(before, after):
    return with_evaluation(PARTED, evaluation("a", before), evaluation("b", after))


def other(index, before, after, *, elements=1, inputs="its own arguments"):
    return OtherBits(
        inputs=inputs, result="[0]", index=index, before=before, after=after, elements=elements
    )


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (ONE, ONE - np.float32([2**-24, 0, 1]), other((0,), "1.0", "0.99999994", elements=2)),
        (np.float32(1), np.float32(np.nan), other((), "1.0", "nan")),
        (np.array([[True, False]]), np.array([[True, True]]), other((0, 1), "False", "True")),
        (np.complex64([1, 1j]), np.complex64([1, 2j]), other((1,), "1j", "2j")),
        (ONE.astype(BF16), np.array([1, 4, 3], BF16), other((1,), "2", "4")),
        (np.array([1, -2], INT4), np.array([1, 2], INT4), other((1,), "-2", "2")),
    ],
)  # fmt: skip
def test_other_bits_refute(before, after, expected):
    found = of(before, after)
    assert (found.answer, found.reason) == ("refuted", "its bits differ")
    assert found.evaluated == Evaluated(other=expected)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (ONE, ONE),
        (np.float32([0.0, -0.0]), np.float32([-0.0, 0.0])),
        (floats(0x7FC00000, 0xFFC00001), floats(0xFFC00000, 0x7F800001)),
        (np.complex64([complex(np.nan, 1)]), np.complex64([complex(-np.nan, 1)])),
        (np.zeros((0, 3)), np.zeros((0, 3))),
    ],
)  # fmt: skip
def test_the_same_bits_prove_nothing(before, after):
    """The payload of a NaN and the sign of a zero are left to each implementation."""
    found = of(before, after)
    assert found == PARTED.model_copy(
        update={"evaluated": Evaluated(equal_on=("its own arguments",))}
    )


def test_the_first_input_with_other_bits_is_told():
    found = with_evaluation(
        PARTED, evaluation("a", ONE, ONE), evaluation("b", ONE, ONE * np.float32([1, 1, 2]))
    )
    assert found.evaluated == Evaluated(
        equal_on=("its own arguments",), other=other((2,), "3.0", "6.0", inputs="sample 1")
    )


@pytest.mark.parametrize("digests", [("another", "b"), ("a", "another")])
def test_a_program_that_is_another_one_in_each_process_is_not_refuted(digests):
    """It draws an array that it captures: the bits differ, and not by the flip."""
    before, after = digests
    found = with_evaluation(PARTED, evaluation(before, ONE), evaluation(after, 2 * ONE))
    assert found == PARTED.model_copy(
        update={
            "evaluated": Evaluated(
                why_not="a form of it is another one in another process, so nothing follows"
            )
        }
    )


def test_why_it_was_not_evaluated_stands_beside_what_was():
    before = evaluation("a", ONE, ONE)
    after = evaluation("b", ONE, why_not="no result in 10 seconds")
    assert with_evaluation(PARTED, before, after).evaluated == Evaluated(
        equal_on=("its own arguments",), why_not="no result in 10 seconds"
    )
    lost = evaluation("", why_not="the process ended")
    assert with_evaluation(PARTED, before, lost).evaluated == Evaluated(why_not="the process ended")
    nothing = evaluation("", why_not="no custom call")
    assert with_evaluation(PARTED, nothing, None).evaluated == Evaluated(why_not="no custom call")
