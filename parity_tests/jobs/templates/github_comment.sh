[% include "comment.sh" %]
comments="repos/$REPOSITORY/issues/$NUMBER/comments"
earlier=$(gh api --paginate "$comments" --jq \
  ".[] | select(.user.type == \"Bot\" and (.body | startswith(\"$marker\"))) | .id")
if [[ -n $earlier ]]; then
  gh api --silent --method PATCH "repos/$REPOSITORY/issues/comments/${earlier%%$'\n'*}" \
    --field body=@comment.md
else
  gh api --silent --method POST "$comments" --field body=@comment.md
fi
