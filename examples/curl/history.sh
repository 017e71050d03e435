#!/usr/bin/env bash
# Pages through a market's history, following the cursor of each page. Prints one page of JSON per
# line.
# Usage: KEY=bf_live_… curl/history.sh [market] [coin]; the default is the newest finished market.
server=${SERVER:-http://127.0.0.1:3000}
coin=${2:-btc}
newest() {
  curl -sS --fail-with-body -H "Authorization: Bearer $KEY" \
    "$server/v1/$coin/markets?status=resolved&withBooks=true&limit=1" | grep -o '0x[0-9a-f]*' | head -n 1
}
market=${1:-$(newest)}

cursor=''
while :; do
  page=$(curl -sS --fail-with-body --compressed --retry 5 -H "Authorization: Bearer $KEY" \
    "$server/v1/$coin/markets/$market/snapshots?limit=1000&depth=1${cursor:+&cursor=$cursor}")
  failed=$?
  printf '%s\n' "$page"
  [ "$failed" = 0 ] || break
  # The last member of a page: null on the last one.
  cursor=$(sed -n 's/.*"nextCursor":"\([^"]*\)"}$/\1/p' <<<"$page")
  [ -n "$cursor" ] || break
done
# The exit code of the script.
[ "$failed" = 0 ]
