marker='<!-- constparity -->'
name="" room=60000  # a comment has 65,536 characters
{
  echo "$marker"
  echo "[All reports of this run]($RUN_URL), of commit ${COMMIT:0:10}"
  for file in constparity-report/{jax-both,programs,both,legacy,simplified}-*/comment.md; do
    [[ -f $file ]] || continue
    name=$(basename "$(dirname "$file")")
    size=$(wc -c < "$file")
    echo
    if ((size <= room)); then
      echo "### ${name%-*}, JAX ${name##*-}"
      echo
      cat "$file"
      room=$((room - size))
    else
      echo "### ${name%-*}, JAX ${name##*-}: too long to stand here"
    fi
  done
  if [[ -n $name && $RESULT != success ]]; then
    echo
    echo "**Not all runs passed**; one that was lost has no report here."
  fi
  if [[ -z $name ]]; then
    echo
    echo "**No run left a report**: they failed or were ended."
  fi
} > comment.md
