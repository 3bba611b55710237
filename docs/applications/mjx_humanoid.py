"""MuJoCo MJX: a step of a humanoid; the model is a tree of arrays that the jitted step captures."""

import jax
import mujoco
from mujoco import mjx

MODEL = """
<mujoco>
  <option timestep="0.005" iterations="4" ls_iterations="8"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 .1"/>
    <body name="torso" pos="0 0 1.3">
      <freejoint/>
      <geom type="capsule" fromto="0 -.07 0 0 .07 0" size=".07"/>
      <body name="right_thigh" pos="0 -.1 -.04">
        <joint name="right_hip" type="hinge" axis="0 1 0" range="-110 20"/>
        <geom type="capsule" fromto="0 0 0 0 .01 -.34" size=".06"/>
        <body name="right_shin" pos="0 .01 -.4">
          <joint name="right_knee" type="hinge" axis="0 -1 0" range="-160 -2"/>
          <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".05"/>
        </body>
      </body>
      <body name="left_thigh" pos="0 .1 -.04">
        <joint name="left_hip" type="hinge" axis="0 1 0" range="-110 20"/>
        <geom type="capsule" fromto="0 0 0 0 -.01 -.34" size=".06"/>
        <body name="left_shin" pos="0 -.01 -.4">
          <joint name="left_knee" type="hinge" axis="0 -1 0" range="-160 -2"/>
          <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".05"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="right_hip" gear="100"/><motor joint="right_knee" gear="80"/>
    <motor joint="left_hip" gear="100"/><motor joint="left_knee" gear="80"/>
  </actuator>
</mujoco>
"""


def program():
    """Return the step and the state of the simulation."""
    model = mujoco.MjModel.from_xml_string(MODEL)
    on_device, state = mjx.put_model(model), mjx.make_data(model)
    return jax.jit(lambda state: mjx.step(on_device, state).qpos), (state,)
