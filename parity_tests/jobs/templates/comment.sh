marker='<!-- constparity -->'
room=60000  # a comment has 65,536 characters
{
  echo "$marker"
  echo "[All reports of this run]($RUN_URL)"
  for file in constparity-report/{jax-both,programs,both}-*/comment.md; do
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
} > comment.md
if ! grep -q '^### ' comment.md; then
  echo "No job wrote a report; nothing is commented."
  exit 0
fi
