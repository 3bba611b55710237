"""What Python runs first in each process of a command whose sites are switched.

It waits until something imports JAX, and imports none of the big packages before. It runs the
user's own start-up file as well. Python finds this file by the PYTHONPATH of the run alone.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_TESTER = os.path.dirname(os.path.dirname(_HERE))


def _wait_for_jax() -> None:
    import importlib.util
    from pathlib import Path

    # By its path: whatever lies beside our packages is none of the command's business.
    file = os.path.join(_TESTER, "own_packages.py")
    spec = importlib.util.spec_from_file_location("parity_tests.own_packages", file)
    assert spec is not None
    assert spec.loader is not None
    own_packages = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = own_packages
    spec.loader.exec_module(own_packages)
    own_packages.open_to_process(("parity_tests",))

    from parity_tests.bisect import waiting

    waiting.wait_for_jax(Path(os.environ["CONSTPARITY_SITES"]))


def _run_the_users() -> None:
    """Run the start-up file that Python would have found without ours, under its name."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = sys.modules["sitecustomize"] = module_from_spec(spec)
        spec.loader.exec_module(module)


sys.path[:] = [each for each in sys.path if os.path.abspath(each) != _HERE]
if os.environ.get("CONSTPARITY_SITES") and sys.version_info >= (3, 11):
    _wait_for_jax()
_run_the_users()
