"""The comparison of tinygp's test_kernel_as_pytree that differs: a product of two kernels.

`constparity bisect --until 'value:product=(\\S+) 1e-6' -- python tinygp_product.py` names the line,
with tinygp 0.3.1 and jax 0.10.2.
"""

import jax
import numpy as np
from tinygp import kernels

random = np.random.default_rng(1058390)
x1, x2 = random.uniform(-3, 3, (50, 5)), random.uniform(-5, 5, (50, 5))
kernel = kernels.DotProduct()
values = jax.jit(lambda kernel_: kernel_(x1, x2))(kernel * kernel)
print(f"product={values[33, 43]:.9g}")
