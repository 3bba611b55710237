"""PennyLane: the energy of a circuit; the matrix of its observable is captured."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml

WIRES = 12


def program():
    """Return the energy and the angles of a circuit."""
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(2**WIRES, 2**WIRES)).astype(np.float32)
    observable = jnp.array(matrix + matrix.T, jnp.complex64)
    device = qml.device("default.qubit", wires=WIRES)

    @qml.qnode(device, interface="jax")
    def energy(angles):
        qml.AngleEmbedding(angles, wires=range(WIRES))
        for wire in range(WIRES - 1):
            qml.CNOT(wires=[wire, wire + 1])
        return qml.expval(qml.Hermitian(observable, wires=range(WIRES)))

    return jax.jit(energy), (jnp.linspace(0.0, 1.0, WIRES),)
