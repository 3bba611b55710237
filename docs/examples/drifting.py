"""A program whose values change with the flip, for `constparity reduce` to make a bug report of.

Features of sound: the window is computed from a captured array alone. Before the flip XLA computes
it while it compiles, and rounds otherwise than the code that computes it at each call afterwards.
"""

import jax.numpy as jnp
import numpy as np

from parity_tests import program

LENGTH, HOP, BANDS = 512, 128, 20
times = np.linspace(-3.0, 3.0, LENGTH, dtype=np.float32)
times.flags.writeable = False
edges = np.geomspace(2, LENGTH // 2, BANDS + 1).astype(int)
bank = np.zeros((LENGTH // 2 + 1, BANDS), np.float32)
for band in range(BANDS):
    bank[edges[band] : edges[band + 1] + 1, band] = 1.0
bank.flags.writeable = False
SOUND = np.sin(np.cumsum(np.linspace(0.05, 1.5, 4096))).astype(np.float32)


def spectra(sound):
    """Return the power of each frequency in each frame."""
    starts = np.arange(0, sound.size - LENGTH + 1, HOP)
    frames = sound[starts[:, None] + np.arange(LENGTH)]
    window = jnp.exp(-0.5 * times**2)
    return jnp.abs(jnp.fft.rfft(frames * window / window.sum())) ** 2


@program(args=(SOUND,))
def features(sound):
    """Return the loudness of each band in each frame, centred."""
    power = spectra(sound) @ bank
    loudness = jnp.log10(jnp.maximum(power, 1e-8))
    return loudness - loudness.mean(axis=0)
