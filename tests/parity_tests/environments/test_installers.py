"""uv makes environments with the settings of pip, and its reason is told where it cannot."""

import os
import re
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from waiting import alive, await_

from parity_tests.environments import find_python, installers, making
from parity_tests.environments.find_python import InstalledPython
from parity_tests.environments.installers import newest, pip_settings, run_command
from parity_tests.environments.making import MakingError, environment_for
from parity_tests.environments.store import MARKER

WHERE = (
    "packages come from PyPI, unless settings of uv or pip name an index (UV_DEFAULT_INDEX or "
    "PIP_INDEX_URL, uv.toml or pip.conf)"
)


@pytest.fixture(autouse=True)
def settings(tmp_path, monkeypatch):
    """A machine whose pip and uv have no settings, and nothing in their caches.

    Return a function that writes pip.conf.
    """
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_", "SSL_"))]:
        monkeypatch.delenv(name)
    file = tmp_path / "pip.conf"
    file.touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(tmp_path / "system"))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(file))
    return file.write_text


def wheel(folder, name, version, tag="py3-none-any"):
    """Write a wheel of one module, as a package index has it."""
    described = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f"__version__ = {version!r}\n",
        f"{described}/METADATA": (
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            + ("Requires-Dist: jaxlib\n" if name == "jax" else "")
        ),
        f"{described}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n",
        f"{described}/RECORD": "",
    }
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / f"{name}-{version}-{tag}.whl", "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)


@pytest.fixture
def wheels(tmp_path, settings, monkeypatch):
    """A folder of wheels, which pip.conf alone names, for the Python of the tests."""
    folder = tmp_path / "wheels"
    for name in ("jaxlib", "numpy", "ml_dtypes", "flatbuffers", "psutil", "pydantic"):
        wheel(folder, name, "9.0")
    wheel(folder, "jax", "0.12.0")
    wheel(folder, "jax", "0.12.0.1")
    wheel(folder, "jax", "0.11.2", tag="cp39-cp39-win32")
    settings(f"[global]\nno-index = true\n[install]\nfind-links =\n    {folder}\n")
    python = InstalledPython(sys.executable, sys.version_info[:3], has_venv=True)
    monkeypatch.setattr(find_python, "find", lambda jax, needs_venv: python)
    yield folder
    while making._in_use:
        making._in_use.pop().close()


def test_an_environment_is_made_of_what_the_settings_of_pip_name(wheels):
    made = environment_for("0.12")
    assert (made.jax, made.jaxlib) == ("0.12.0.1", "9.0")
    assert {"jax==0.12.0.1", "jaxlib==9.0"} <= set(made.packages)
    assert made.python_version == ".".join(map(str, sys.version_info[:3]))
    script = "import sys, jax; print(sys.prefix, jax.__file__)"
    prefix, file = run_command([str(made.python), "-I", "-c", script]).stdout.split()
    assert prefix == str(made.path)
    assert Path(file).is_relative_to(made.path)
    assert (made.path / MARKER).exists()


def said_of(jax, with_=()):
    with pytest.raises(MakingError) as raised:
        environment_for(jax, with_)
    return str(raised.value).splitlines()


def test_a_release_that_does_not_exist_is_said(wheels):
    assert said_of("0.12.7") == [
        "no environment of JAX 0.12.7: uv says: error: No solution found when resolving "
        "dependencies",
        "  cause: Because there is no version of jax==0.12.7 and you require jax==0.12.7, we can "
        "conclude that your requirements are unsatisfiable.",
        WHERE,
    ]


def test_a_release_without_a_wheel_for_the_python_is_said(wheels):
    first, cause, *_, last = said_of("0.11.2")
    assert first.startswith("no environment of JAX 0.11.2: uv says: error: No solution found")
    assert "jax==0.11.2 has no wheels with a matching" in cause
    assert last == WHERE


def test_packages_that_disagree_are_both_said(wheels):
    assert said_of("0.12.0", ["jax==0.12.0.1"])[1] == (
        "  cause: Because you require jax==0.12.0 and jax==0.12.0.1, we can conclude that your "
        "requirements are unsatisfiable."
    )


def test_an_index_that_is_not_reached_is_said(settings, wheels):
    settings("[global]\nindex-url = http://127.0.0.1:9/simple\n")
    first, *_, reason, last = said_of("0.12.0.1")
    # uv asks for several packages at once, and names the one that fails first.
    assert re.fullmatch(
        r"no environment of JAX 0\.12\.0\.1: uv says: error: Failed to fetch: "
        r"http://127\.0\.0\.1:9/simple/\w+/",
        first,
    )
    assert "Connection refused" in reason
    assert last == WHERE


def test_the_newest_release_is_that_for_the_python(wheels):
    assert newest(sys.executable, "0.12") == "0.12.0.1"


def test_settings_of_pip_are_those_of_its_files_and_of_the_environment(settings, monkeypatch):
    settings(
        "[global]\nindex-url = https://global.example/simple\nproxy = http://proxy.example:3128\n"
        "cert = /etc/company.pem\ntimeout = 60\n"
        "[install]\nindex-url = https://one.example/simple\nextra-index-url =\n    https://two.example/simple\n"
        "    https://three.example/simple\ntrusted-host = two.example three.example\n"
        "constraint = /etc/limits.txt\n[freeze]\ntimeout = 10\n"
    )
    monkeypatch.setenv("PIP_FIND_LINKS", "/wheels /more")
    monkeypatch.setenv("PIP_DEFAULT_TIMEOUT", "90")
    arguments, variables = pip_settings()
    assert arguments == ["-c", "/etc/limits.txt"]
    expected = {
        "UV_DEFAULT_INDEX": "https://one.example/simple",
        "UV_INDEX": "https://two.example/simple https://three.example/simple",
        "UV_FIND_LINKS": "/wheels,/more",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_INSECURE_HOST": "two.example three.example",
        "UV_HTTP_TIMEOUT": "60",
        "ALL_PROXY": "http://proxy.example:3128",
        "SSL_CERT_FILE": "/etc/company.pem",
    }
    assert variables | expected == variables  # the machine may have more


@pytest.mark.parametrize("told_by", ["a variable", "the user's uv.toml", "the system's uv.toml"])
def test_where_uv_has_an_index_that_of_pip_is_left_out(settings, monkeypatch, tmp_path, told_by):
    settings("[global]\nindex-url = https://one.example/simple\ncert = /etc/company.pem\n")
    if told_by == "a variable":
        monkeypatch.setenv("UV_INDEX_URL", "https://own.example/simple")
    else:
        folder = tmp_path / ("config" if "user" in told_by else "system") / "uv"
        folder.mkdir(parents=True)
        (folder / "uv.toml").touch()
    _, variables = pip_settings()
    assert variables["SSL_CERT_FILE"] == "/etc/company.pem"
    assert not {"UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_STRATEGY"} & variables.keys()


def test_without_settings_of_pip_uv_is_told_nothing(monkeypatch):
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)  # nor those of the machine
    assert pip_settings() == ([], {})


def test_a_variable_that_uv_reads_holds_over_a_setting_of_pip(settings, monkeypatch):
    settings("[global]\ncert = /etc/company.pem\n")
    monkeypatch.setenv("SSL_CERT_FILE", "/etc/own.pem")
    assert "SSL_CERT_FILE" not in pip_settings()[1]


def test_settings_that_pip_cannot_read_are_said(settings, wheels):
    settings("index-url = https://one.example/simple\n")
    assert said_of("0.12.0.1")[0].startswith(
        "no environment of JAX 0.12.0.1: pip cannot read its settings: "
    )


def test_without_uv_it_is_said_how_to_install_it(wheels, monkeypatch):
    monkeypatch.setitem(sys.modules, "uv", None)
    assert said_of("0.12.0.1") == [
        "no environment of JAX 0.12.0.1: making it needs uv: install constparity[environments]"
    ]


def test_packages_of_this_process_are_not_taken_for_installed(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/packages/of/the/parent")
    monkeypatch.setenv("PIP_TARGET", "/elsewhere")
    monkeypatch.setenv("PIP_INDEX_URL", "https://example.org/simple")
    names = "PYTHONPATH", "PIP_TARGET", "PIP_INDEX_URL", "PIP_USER"
    script = f"import os; print([os.environ.get(name) for name in {names}])"
    ran = run_command([sys.executable, "-c", script])
    assert ran.stdout == "[None, None, 'https://example.org/simple', '0']\n"


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_command_ends_with_all_that_it_started(tmp_path):
    """Ctrl-C reaches the parent alone, and then nothing may go on writing."""
    file = tmp_path / "pid"
    command = ["sh", "-c", f"sleep 600 & echo $! > {file}.part; mv {file}.part {file}; wait"]
    script = (
        f"from parity_tests.environments.installers import run_command\nrun_command({command!r})\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script], stderr=subprocess.DEVNULL, cwd=Path(__file__).parents[3]
    )
    await_(file.exists)
    sleeping = int(file.read_text())
    parent.send_signal(signal.SIGINT)
    assert parent.wait(timeout=60) != 0
    await_(lambda: not alive(sleeping))


@pytest.mark.usefixtures("interruptible")
def test_a_command_that_is_interrupted_as_it_starts_ends(monkeypatch):
    """The process runs before the caller has it."""
    started = []

    class Started(subprocess.Popen):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            started.append(self)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Started)
    with pytest.raises(KeyboardInterrupt):
        run_command(["sleep", "600"])
    [process] = started
    assert process.returncode == -signal.SIGKILL
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_file_installs_as_the_makefile_runs_it_and_says_why_not(tmp_path):
    command = [sys.executable, "-I", installers.__file__, tmp_path / "none", "jax"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("uv says: ")
    assert str(tmp_path / "none") in done.stderr
