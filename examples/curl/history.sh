#!/usr/bin/env bash
# Pages through a market's history, with the cursor of each page. Prints a page of JSON per line.
# Usage: KEY=bf_live_… curl/history.sh market [coin]
set -euo pipefail
server=${SERVER:-http://127.0.0.1:3000}
market=${1:?the market: its conditionId, slug or an asset id}
coin=${2:-btc}

cursor=''
while :; do
  page=$(curl -sS --fail-with-body --compressed --retry 5 -H "Authorization: Bearer $KEY" \
    "$server/v1/$coin/markets/$market/snapshots?limit=1000&depth=1${cursor:+&cursor=$cursor}")
  printf '%s\n' "$page"
  # The last member of a page: null on the last one.
  cursor=$(sed -n 's/.*"nextCursor":"\([^"]*\)"}$/\1/p' <<<"$page")
  [ -n "$cursor" ] || break
done
