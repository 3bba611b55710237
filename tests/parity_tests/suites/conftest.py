import pytest
from forked_pytest import PytestServer
from planted_suites import Suite


@pytest.fixture(scope="session")
def server():
    with PytestServer() as server:
        yield server


@pytest.fixture
def suite(tmp_path, server):
    """A test-suite to plant and to run."""
    return Suite(tmp_path, server)
