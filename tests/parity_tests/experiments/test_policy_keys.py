"""Keys tell the arrays of a program apart, with no more words than that takes."""

from dataclasses import dataclass

import numpy as np

from engine.configuration.policy_table import read_table
from parity_tests.experiments.variants import table, with_keys


@dataclass(frozen=True, eq=False)
class Constant:
    """As much of an `engine.CapturedConstant` as keys are made of."""

    value: np.ndarray
    aval: str
    place: tuple | None

    @property
    def nbytes(self):
        return self.value.nbytes

    def captured_at(self):
        return self.place


def constant(length, *place):
    return Constant(np.zeros(length, np.float32), f"float32[{length}]", place or None)


MODEL_3 = ("/home/me/models/mlp.py", 3, "step")
MODEL_4 = ("/home/me/models/mlp.py", 4, "step")
OTHER_3 = ("/home/me/others/mlp.py", 3, "step")
SHORT_3 = ("mlp.py", 3, "step")


def keys(*constants):
    return [each.key for each in with_keys(constants)]


def test_a_type_that_is_there_once_is_its_key():
    assert keys(constant(8, *MODEL_3), constant(9, *MODEL_3)) == ["float32[8]", "float32[9]"]


def test_places_tell_arrays_of_one_type_apart():
    assert keys(constant(8, *MODEL_3), constant(8, *MODEL_4)) == [
        "float32[8] mlp.py:3",
        "float32[8] mlp.py:4",
    ]
    assert keys(constant(8, *MODEL_3), constant(8, *OTHER_3), constant(8, *MODEL_4)) == [
        "float32[8] models/mlp.py:3",
        "float32[8] others/mlp.py:3",
        "float32[8] mlp.py:4",
    ]


def test_arrays_of_one_type_and_line_share_a_key():
    [both] = with_keys([constant(8, *MODEL_3), constant(8, *MODEL_3)])
    assert (both.key, len(both.identities), both.bytes, both.largest) == ("float32[8]", 2, 64, 32)


def test_a_table_inlines_what_was_chosen_and_nothing_else():
    constants = [
        constant(8, *MODEL_3), constant(8, *OTHER_3), constant(8, *MODEL_4), constant(8),
        constant(8, *SHORT_3), constant(9, *MODEL_3), constant(9, *MODEL_4), constant(10),
    ]  # fmt: skip
    arrays = with_keys(constants)
    assert len({each.key for each in arrays}) == len(constants)
    for chosen in range(2 ** len(constants)):
        inlined = {each.key for bit, each in enumerate(arrays) if chosen >> bit & 1}
        policy = read_table(table(arrays, inlined), "t")
        answers = [policy(each) == "inline" for each in constants]
        assert answers == [bool(chosen >> bit & 1) for bit in range(len(constants))]
