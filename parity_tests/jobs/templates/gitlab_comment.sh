[% include "comment.sh" %]
notes="$CI_API_V4_URL/projects/$CI_PROJECT_ID/merge_requests/$CI_MERGE_REQUEST_IID/notes"
earlier="" page=1
while [[ -z $earlier ]]; do
  found=$(
    curl --fail --silent --show-error --header "PRIVATE-TOKEN: $CONSTPARITY_TOKEN" \
      "$notes?per_page=100&page=$page&sort=asc&order_by=created_at"
  )
  [[ $found != "[]" ]] || break
  earlier=$(
    python -c 'import json, sys
print(next((n["id"] for n in json.load(sys.stdin) if n["body"].startswith(sys.argv[1])), ""))' \
      "$marker" <<< "$found"
  )
  page=$((page + 1))
done
if [[ -n $earlier ]]; then
  method=PUT notes="$notes/$earlier"
else
  method=POST
fi
curl --fail --silent --show-error --output /dev/null --request "$method" \
  --header "PRIVATE-TOKEN: $CONSTPARITY_TOKEN" --data-urlencode body@comment.md "$notes"
