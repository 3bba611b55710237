"""Suites of libraries that are lines of a shell: nothing is fetched, installed or imported."""

from types import SimpleNamespace

from parity_tests.campaign import ecosystem

FINE = "mkdir programs; touch programs/one.py; exit 0"
_RESULTS = '<testsuite><testcase classname="t" name="fails"><failure/></testcase></testsuite>'


def planted(monkeypatch):
    """Return the lines of each library by its name, and what was started; others are `FINE`."""
    quick = SimpleNamespace(lines={}, unfetched=set(), started=[])

    def fetch(library, place, python):
        if library.name in quick.unfetched:
            raise ecosystem.LibraryError(library, "it cannot be fetched; check its name")
        return place.folder

    def command(library, place, python):
        place.results.write_text(_RESULTS)
        quick.started.append(library.name)
        return ["sh", "-c", quick.lines.get(library.name, FINE)]

    monkeypatch.setattr(ecosystem, "_python_with", lambda library, jax, say: None)
    monkeypatch.setattr(ecosystem, "_source_of", fetch)
    monkeypatch.setattr(ecosystem, "_suite_command", command)
    return quick
