import pytest
from planted_suites import Suite


@pytest.fixture
def suite(tmp_path):
    """A test-suite to plant and to run."""
    return Suite(tmp_path)
