"""After the flip, a Brax environment cannot step a state that is on a second device.

Title: With simplified constants env.step fails off device 0: mjx.put_model commits the model

`envs.get_environment("ant")` holds a `System` that `mjx.put_model(mj)` made. Without a `device`,
`put_model` takes `jax.devices()[0]` and calls `jax.device_put(model, device=device)`, so 123 of the
167 arrays of the system are committed to it. `env.step` captures them.

Where captured arrays are literals, as in JAX today, that has no effect: a jitted `env.step` runs
where its state is. With JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS=1, which JAX means to make the default,
captured arrays are arguments, and decide placement as arguments do:

    before the flip: stepped on device 1
    after the flip: ValueError: Received incompatible devices for jitted computation. Got argument
    state.pipeline_state.q of Ant.step with shape float32[15] and with device ids [1] on platform
    CPU and closed over constant sharding with device ids [0] on platform CPU

So it does for states that are sharded over two devices, `jax.jit(jax.vmap(env.step))`, with device
ids [0, 1] in place of [1]; `jax.pmap(env.reset)` works in both modes. On one device nothing fails,
but what `env.step` returns is committed where it was not before.

A fix in MJX: `jax.device_put(model)` without a device where the caller has named none, which
leaves the model uncommitted on the default device. For users: let the environment have a system
that is not committed, with which both programs run after the flip:

    env.sys = jax.tree.map(
        lambda a: jnp.asarray(np.asarray(a)) if isinstance(a, jax.Array) else a, env.sys
    )

Seen with brax 0.14.2, mujoco-mjx 3.17.0 and jax 0.10.2 on CPU, with two devices, on 2026-11-27.
Prints what a step does on each side, and exits with 1 where it fails after the flip alone.
"""

import os
import subprocess
import sys

FLAG = "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"


def main():
    """Step on the second device, and say where that was, or why it fails."""
    import jax
    import jax.numpy as jnp
    from brax import envs

    environment = envs.get_environment("ant", backend="positional")
    state = jax.jit(environment.reset)(jax.random.key(0))
    given = jax.device_put((state, jnp.zeros(environment.action_size)), jax.devices()[1])
    try:
        [device] = jax.jit(environment.step)(*given).obs.devices()
    except ValueError as error:
        print(f"ValueError: {error}")
        sys.exit(1)
    print(f"stepped on device {device.id}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main()
        sys.exit()
    statuses = []
    for when, flag in (("before", "0"), ("after", "1")):
        devices = "--xla_force_host_platform_device_count=2"
        done = subprocess.run(
            [sys.executable, __file__, "side"],
            env={**os.environ, FLAG: flag, "XLA_FLAGS": devices, "JAX_PLATFORMS": "cpu"},
            capture_output=True,
            text=True,
            check=False,
        )
        statuses.append(done.returncode)
        print(f"{when} the flip: {done.stdout.splitlines()[-1]}")
    sys.exit(statuses == [0, 1])
