"""Whether pytest finds the plugin of constparity, as its metadata and the environment say.

Nothing of the plugin is imported for that.
"""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Mapping

from parity_tests.diagnosis.records import PytestPlugin

_NAME = "constparity"
_NO_AUTOLOAD = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"


def pytest_plugin(environment: Mapping[str, str] = os.environ) -> PytestPlugin:
    """Say whether a pytest that starts here loads the plugin, and what to do where it does not.

    Example::

        pytest_plugin().is_loaded
    """
    try:
        importlib.metadata.distribution("pytest")
    except importlib.metadata.PackageNotFoundError:
        return PytestPlugin(is_loaded=False, to_do="without pytest: pip install pytest")
    found = [
        each for each in importlib.metadata.entry_points(group="pytest11") if each.name == _NAME
    ]
    if not found:
        to_do = "not registered: install constparity with pip, for it runs from an unpacked tree"
        return PytestPlugin(is_loaded=False, to_do=to_do)
    if environment.get(_NO_AUTOLOAD):
        to_do = f"not loaded, for {_NO_AUTOLOAD} is set: pytest -p {found[0].value}"
        return PytestPlugin(is_loaded=False, to_do=to_do)
    return PytestPlugin(is_loaded=True)
