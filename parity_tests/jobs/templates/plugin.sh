# This is $JAX if constparity can be installed beside it, which takes JAX [= jax_range[0] =] to below [= jax_range[1] =].
beside_plugin=$(printf '%s\n' [= jax_range[0] =] "$JAX" [= jax_range[1] =] | sort -V | sed -n 2p)
