"""Counts the Python functions that a call enters: proves that a call runs no Python."""

import gc
import sys


def frames_of(call, *args):
    """Count the frames, without those of a garbage collection that happens to be due."""
    frames = []
    collects = gc.isenabled()
    gc.disable()
    sys.setprofile(lambda frame, event, _: event == "call" and frames.append(frame))
    try:
        call(*args)
    finally:
        sys.setprofile(None)
        if collects:
            gc.enable()
    return len(frames)
