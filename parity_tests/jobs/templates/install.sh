mapfile -t wanted < <(xargs -r -n 1 printf '%s\n' <<< "$CONSTPARITY")
wait "$!" # fails where quotes do not match
mapfile -t project < <(xargs -r -n 1 printf '%s\n' <<< "$PROJECT")
wait "$!" # fails where quotes do not match
# `programs` and `jax-both` run on another JAX in an environment of their own, not in this one.
if [[ $JAX != installed && $RUN != programs && $RUN != jax-both ]]; then
  wanted+=("jax==$JAX")
fi
if [[ $JAX == installed || $RUN != programs ]]; then
  wanted+=("${project[@]}")
fi
if [[ $INSTALLER == uv ]]; then
  command -v uv > /dev/null || python -m pip install --quiet uv
  uv pip install --python "$(command -v python)" "${wanted[@]}"
else
  if [[ " $PROJECT " == *" --group "* ]]; then
    python -m pip install --quiet --upgrade 'pip>=25.1'
  fi
  python -m pip install "${wanted[@]}"
fi
