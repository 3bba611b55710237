"""What a shell completes: asked as bash asks, and once by bash itself."""

import subprocess
import sys
from pathlib import Path

import pytest

from parity_tests.cli import app

PROGRAM = (
    "from parity_tests import program\n\n\n@program(args=(1,))\ndef {name}(x):\n    return x\n"
)


@pytest.fixture
def completed(monkeypatch, capfd, tmp_path):
    """Return what bash would offer for the last of the words."""
    monkeypatch.chdir(tmp_path)
    for name in ("step", "stop"):
        (tmp_path / f"{name}.py").write_text(PROGRAM.format(name=name))

    def offered(words):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
        monkeypatch.setenv("_CONSTPARITY_COMPLETE", "complete_bash")
        assert app.main([]) == 0
        return capfd.readouterr().out.split()

    return offered


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("constparity pro", ["prove"]),
        ("constparity history tr", ["trend"]),
        ("constparity run --sa", ["--save"]),
        ("constparity run --sides legacy,jax-s", ["legacy,jax-simplified"]),
        ("constparity aa --side jax-l", ["jax-legacy"]),
        ("constparity run --report s", ["sarif:"]),
        ("constparity tune --report s", ["svg:"]),
        ("constparity run --fail-on different,pl", ["different,placement"]),
        ("constparity prove --platforms cuda,t", ["cuda,tpu"]),
        ("constparity run -k st", ["step", "stop"]),
        ("constparity schema g", ["grid"]),
    ],
)
def test_names_are_completed(completed, words, offered):
    assert completed(words) == offered


def test_commands_are_offered_in_the_order_of_help(completed):
    assert completed("constparity ")[:3] == ["run", "prove", "watch"]


def test_bash_takes_the_script_that_is_installed(tmp_path):
    """What `--install-completion` writes, read by bash, which then asks for its words."""
    script = (
        'eval "$(_CONSTPARITY_COMPLETE=source_bash constparity)"\n'
        "complete -p constparity\n"
        "COMP_WORDS=(constparity env) COMP_CWORD=1\n"
        "_constparity_completion constparity\n"
        'echo "${COMPREPLY[@]}"\n'
    )
    found = subprocess.run(
        ["bash", "--norc", "-c", script],
        env={"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    first, second = found.stdout.splitlines()
    assert "-F _constparity_completion constparity" in first, found.stderr
    assert second == "environments"
