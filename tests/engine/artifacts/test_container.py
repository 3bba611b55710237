"""A container is written whole or not at all, with the permissions of a file that is opened."""

import os
import stat

import pytest

from engine.artifacts import container


def test_a_file_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "f"

    def broken():
        yield b"the beginning"
        raise RuntimeError("the disk is full")

    path.write_bytes(b"before")
    with pytest.raises(RuntimeError):
        container.write(path, broken())
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["f"]
    container.write(path, [b"after"])
    assert path.read_bytes() == b"after"


@pytest.mark.skipif(os.name != "posix", reason="other systems have other kinds of files")
def test_a_link_stays_and_leads_to_what_was_written(tmp_path):
    (tmp_path / "v1").write_bytes(b"before")
    (tmp_path / "current").symlink_to("v1")
    container.write(tmp_path / "current", [b"after"])
    assert (tmp_path / "current").is_symlink()
    assert (tmp_path / "v1").read_bytes() == b"after"


@pytest.mark.skipif(os.name != "posix", reason="other systems have other kinds of files")
def test_what_is_no_regular_file_is_neither_replaced_nor_waited_for(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match=f"it is no regular file: '{pipe}'"):
        container.write(pipe, [b"after"])
    with pytest.raises(container.ContainerError, match="pipe is no regular file"):
        container.mapped(pipe)
    assert pipe.is_fifo()


def test_a_folder_that_is_not_there_is_named_and_no_temporary_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"'\S+nowhere/f'"):
        container.write(tmp_path / "nowhere" / "f", [b"after"])


@pytest.mark.skipif(os.name != "posix", reason="other systems have other permissions")
@pytest.mark.parametrize("before", [None, 0o600, 0o640, 0o664, 0o400])
def test_a_file_keeps_its_permissions(tmp_path, before, monkeypatch):
    """As with `open`: those of a previous file, or the default under the umask."""
    path, like = tmp_path / "f", tmp_path / "like"
    if before is not None:
        path.touch()
        path.chmod(before)

    def pieces():
        [temporary] = set(tmp_path.iterdir()) - {path}
        modes.append(mode(temporary))
        yield b"after"

    def mode(path):
        return stat.S_IMODE(path.stat().st_mode)

    modes = []
    umask = os.umask(0o027)
    try:
        with monkeypatch.context() as patched:
            patched.delattr(os, "umask")  # it would act on all threads
            container.write(path, pieces())
        like.touch()
    finally:
        os.umask(umask)
    assert path.read_bytes() == b"after"
    assert mode(path) == (mode(like) if before is None else before)
    assert modes == [mode(path)]  # from the first byte on


def test_a_header_that_would_take_gigabytes_of_memory_is_neither_written_nor_read(monkeypatch):
    """JSON in memory takes many times its bytes: a file of 95 MB took 2.1 GB, and 15 seconds."""
    most, note = container._MAX_HEADER, {"note": "x" * 2**24}
    with pytest.raises(ValueError, match="too many constants"):
        container.chunks(note, [])
    monkeypatch.setattr(container, "_MAX_HEADER", 2**30)
    file = memoryview(b"".join(container.chunks(note, [])))
    assert container.parse(file).metadata["note"] == note["note"]
    monkeypatch.setattr(container, "_MAX_HEADER", most)
    with pytest.raises(container.ContainerError, match="claims a header of 16777"):
        container.parse(file)
