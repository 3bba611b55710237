"""e3nn: an equivariant tensor product; its Clebsch-Gordan coefficients are captured."""

import e3nn_jax as e3nn
import jax


def program():
    """Return the product and its operands."""
    irreps = e3nn.Irreps("16x0e + 16x1o + 16x2e + 8x3o")
    one, other = (e3nn.normal(irreps, jax.random.key(seed), (64,)) for seed in (0, 1))
    return jax.jit(lambda one, other: e3nn.tensor_product(one, other).array), (one, other)
