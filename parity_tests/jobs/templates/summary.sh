summary="constparity-report/$RUN-$JAX/summary.md"
if [[ -f $summary ]]; then
  {
    echo "## constparity: $RUN, JAX $JAX"
    echo
    cat "$summary"
  } >> "$GITHUB_STEP_SUMMARY"
fi
