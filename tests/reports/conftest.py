"""Makes `campaigns.py`, beside this file, importable: importlib mode adds no folder to the path."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest


def _load_campaigns():
    spec = importlib.util.spec_from_file_location(
        "reports_campaigns", Path(__file__).with_name("campaigns.py")
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def campaigns():
    """The module of hand-made campaigns."""
    return _load_campaigns()
