# It stays where this run does not come to a report; the comment has it then.
mkdir -p "constparity-report/$RUN-$JAX"
echo "**No report**: this run failed or was ended. Its log says more." \
  > "constparity-report/$RUN-$JAX/comment.md"
: "${CONSTPARITY:?is empty: name what pip installs constparity from, as git+https://...@COMMIT}"
mapfile -t wanted < <(xargs -r -n 1 printf '%s\n' <<< "$CONSTPARITY")
wait "$!" # fails where quotes do not match
mapfile -t project < <(xargs -r -n 1 printf '%s\n' <<< "$PROJECT")
wait "$!" # fails where quotes do not match
[% include "plugin.sh" %]
# `programs` runs on another JAX in an environment of its own, and `jax-both` where it has to: uv makes it.
if [[ $JAX != installed ]]; then
  if [[ $RUN == programs || ($RUN == jax-both && $beside_plugin != "$JAX") ]]; then
    wanted+=(uv)
  else
    wanted+=("jax==$JAX")
  fi
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
