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
