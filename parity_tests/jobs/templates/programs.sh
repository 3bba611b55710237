report="constparity-report/$RUN-$JAX"
mkdir -p "$report"
mapfile -t arguments < <(xargs -r -n 1 printf '%s\n' <<< "$PROGRAMS")
wait "$!" # fails where quotes do not match
: "${arguments[0]:?PROGRAMS is empty: name targets of constparity run}"
if [[ $JAX != installed ]]; then
  arguments+=(--jax "$JAX")
  mapfile -t packages < <(xargs -r -n 1 printf -- '--with\n%s\n' <<< "$WITH")
  wait "$!" # fails where quotes do not match
  arguments+=("${packages[@]}")
fi
# Only what has changed since the last run that passed is run, with this constparity.
of=$(constparity --version | cat - <(echo "$CONSTPARITY") | sha256sum)
kept=".constparity_cache/results/$JAX-${of:0:16}.json"
if [[ -f $kept ]]; then
  arguments+=(--only-changed "$kept")
fi
constparity run "${arguments[@]}" \
  --report "json:$report/result.json" --report "html:$report/report.html" \
  --report "md:$report/summary.md" --report "comment:$report/comment.md" \
  --report "junit:$report/junit.xml" --report "sarif:$report/findings.sarif"
mkdir -p "${kept%/*}"
cp "$report/result.json" "$kept"
