import built_campaigns
import pytest


@pytest.fixture(scope="session")
def campaigns():
    """The module of hand-made campaigns."""
    return built_campaigns
