"""The table of hazards is complete."""

from typing import get_args

from parity_tests.observe.hazards import detection
from reports.rows import HazardKind

ALL = detection.DETECTORS | detection.DETECTORS_OF_READS


def test_every_kind_of_hazard_has_a_detector():
    assert tuple(ALL) == get_args(HazardKind)


def test_a_detector_has_the_name_of_its_kind():
    for kind, find in ALL.items():
        assert find.__name__ == kind.replace(" ", "_").lower()
