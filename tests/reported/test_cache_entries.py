"""A program that counts the entries of JAX's persistent cache, in which legacy keeps each closure.

Stock JAX, in a fresh process for each mode, counts 3 and 1.
"""

from program_files import program_file

from parity_tests.run import run
from parity_tests.run.options import CampaignOptions

FILE = str(program_file("reported/cache_entries"))


def test_calls_as_written_count_entries_in_a_folder_of_their_process(tmp_path, monkeypatch):
    of_user = tmp_path / "cache"
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(of_user))
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
    sides = ("jax-legacy", "jax-simplified")
    options = CampaignOptions(sides=sides, timeout=60.0, attribute=False, steady_calls=0)
    [row] = run.run([FILE], options).programs
    assert (row.flip.outcome, row.flip.reasons[0].what) == (
        "different",
        "as it is written, call 1 gives another int at the only output",
    )
    filled = [each.changed_process for each in row.observations]
    assert filled == [("the program fills JAX's persistent cache",)] * 2
    assert not of_user.exists()
