"""What a worker writes: any text and any number goes to the parent and back."""

import math

import pytest
from built_campaigns import leaf

from parity_tests.evidence.found import SettingsFound
from parity_tests.processes import protocol
from reports.rows import Failure, LeafComparison, Observation


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_numbers_that_json_lacks_read_back(number):
    apart = leaf("mismatch", max_abs=number, max_rel=number)
    again = LeafComparison.model_validate_json(protocol.to_json(apart))
    assert repr(again) == repr(apart)


def test_a_lone_surrogate_is_spelled_out():
    failure = Failure(kind="exception", stage="trace", type="E", message="\udcff é \U0001f600")
    observation = Observation(program="p", side="legacy", failure=failure)
    again = Observation.model_validate_json(protocol.to_json(observation))
    assert again.failure.message == "\\udcff é \U0001f600"
    assert again == observation.model_copy(update={"failure": again.failure})


def test_lone_surrogates_in_names_are_spelled_out_and_stay_two():
    names = {chr(0xDCFF): "1", chr(0xDCFE): "2"}
    found = SettingsFound(devices=1, settings={}, variables=names)
    again = SettingsFound.model_validate_json(protocol.to_json(found))
    assert again.variables == {"\\udcff": "1", "\\udcfe": "2"}


def test_a_jaxpr_with_a_lone_surrogate_is_written(tmp_path):
    protocol.write(tmp_path / "0.jaxpr.txt", "\udcff é")
    assert (tmp_path / "0.jaxpr.txt").read_text("utf-8") == "\\udcff é"
