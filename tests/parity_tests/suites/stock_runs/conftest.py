"""Small suites, planted in a folder, and run on both sides of stock JAX."""

import pytest
from stock_suites import HEAD, Done, asked, environment

from reports import load_result


@pytest.fixture(scope="module")
def plant(tmp_path_factory):
    """Write a suite of files by name into a new folder."""

    def planted(files):
        folder = tmp_path_factory.mktemp("suite")
        (folder / "pytest.ini").write_text("[pytest]\n")
        for name, text in (
            {"test_it.py": files}.items() if isinstance(files, str) else files.items()
        ):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(HEAD + text if name.endswith(".py") else text)
        return folder

    return planted


@pytest.fixture(scope="module")
def run(server):
    """Run pytest in a folder."""

    def ran(folder, *arguments, plain=False):
        report = folder / "suite.json"
        report.unlink(missing_ok=True)
        options = arguments if plain else asked(*arguments)
        done = server.run(options, folder, environment(), timeout=300)
        result = load_result(report) if report.exists() else None
        return Done(done.returncode, done.stdout + done.stderr, result, folder)

    return ran
