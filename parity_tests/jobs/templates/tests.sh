report="constparity-report/$RUN-$JAX"
mkdir -p "$report"
arguments=("--constparity=$RUN")
[% include "plugin.sh" %]
if [[ $RUN == jax-both && $JAX != installed && $beside_plugin != "$JAX" ]]; then
  mapfile -t packages < <(xargs -r -n 1 printf -- '--with\n%s\n' <<< "$WITH")
  wait "$!" # fails where quotes do not match
  python=$(constparity environments make "$JAX" "${packages[@]}")
  arguments+=("--constparity-python=$python")
fi
formats=()
case $RUN in
  both | jax-both) formats=(json:result.json html:report.html md:summary.md comment:comment.md
    junit:junit.xml sarif:findings.sarif) ;;
  *) arguments+=("--junitxml=$report/junit.xml") ;; # one side alone compares nothing
esac
for format in "${formats[@]}"; do
  arguments+=("--constparity-report=${format%%:*}:$report/${format#*:}")
done
mapfile -t tests < <(xargs -r -n 1 printf '%s\n' <<< "$TESTS")
wait "$!" # fails where quotes do not match
python -m pytest "${arguments[@]}" "${tests[@]}"
if [[ -z ${formats[*]} ]]; then
  echo "The tests pass." > "$report/comment.md"
fi
