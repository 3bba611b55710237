import jax.numpy as jnp
import model


def test_the_step_captured_its_weights():
    assert model.captured_bytes(model.step, jnp.ones(8)) == model.WEIGHTS.nbytes


def test_activations_are_between_minus_one_and_one():
    assert abs(model.within_budget(jnp.ones(8))).max() < 1
