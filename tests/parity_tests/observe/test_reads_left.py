"""Reads are in their file before the reader goes on, and are read back as they were."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp

from parity_tests.observe.environment import FLAG
from parity_tests.observe.reads.recorder import left_in, read_back
from parity_tests.observe.reads.recording import recording
from parity_tests.processes.side_environment import environment_of, with_our_packages

TABLE = jnp.arange(64.0)


def test_what_is_left_is_what_was_read(tmp_path):
    file = tmp_path / "reads"
    with left_in(file) as leave, recording(leave) as reads:
        closed = jax.make_jaxpr(lambda x: x * TABLE)(1.0)
        assert [getattr(jax.config, FLAG), *closed.consts, str(closed)]
    assert reads.log
    assert read_back(file.read_text()).log == reads.log


def test_a_line_that_was_cut_off_is_left_out(tmp_path):
    file = tmp_path / "reads"
    with left_in(file) as leave, recording(leave) as reads:
        for _ in range(2):
            assert getattr(jax.config, FLAG) in (True, False)
    text = file.read_text()
    assert read_back(text[:-3]).log == reads.log[:1]


def test_a_line_that_reads_very_often_is_not_left_as_often(tmp_path):
    file = tmp_path / "reads"
    with left_in(file) as leave, recording(leave) as reads:
        for _ in range(1000):
            assert getattr(jax.config, FLAG) in (True, False)
    assert len(reads.log) == 1000
    assert len(read_back(file.read_text()).log) == 100


def test_a_block_that_reads_nothing_leaves_no_file(tmp_path):
    (tmp_path / "reads").write_text("of another run\n")
    with left_in(tmp_path / "reads") as leave, recording(leave):
        pass
    assert not list(tmp_path.iterdir())
    with left_in(None) as leave, recording(leave) as reads:
        assert getattr(jax.config, FLAG) in (True, False)
    assert reads.log


def test_the_file_outlives_its_process(tmp_path):
    script = (
        "import os, pathlib, jax\n"
        "from parity_tests.observe.reads.recorder import left_in\n"
        "from parity_tests.observe.reads.recording import recording\n"
        "with left_in(pathlib.Path('reads')) as leave, recording(leave):\n"
        "    os.chdir('/')\n"
        "    exec(compile('def ends():\\n    if jax.config." + FLAG + ": os.abort()\\n"
        "ends()', '/model.py', 'exec'))\n"
    )
    environment = with_our_packages(environment_of("jax-simplified"))
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment, cwd=tmp_path, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == -6, done.stderr
    [(site, seen)] = read_back((tmp_path / "reads").read_text()).log
    assert (site.subject, os.path.basename(site.place.file), seen.count) == ("flag", "model.py", 1)
