#!/usr/bin/env bash
# The book as of a time: the state at or before it, never after. Fails if it is older than 5 s.
# Usage: KEY=bf_live_… curl/book-at.sh [market] [time] [coin]; the default time is half a minute
# after the start of the newest finished market.
server=${SERVER:-http://127.0.0.1:3000}
coin=${3:-btc}
newest=$(curl -sS -H "Authorization: Bearer $KEY" \
  "$server/v1/$coin/markets?status=resolved&withBooks=true&timeframe=5m&limit=1")
market=${1:-$(grep -o '0x[0-9a-f]*' <<<"$newest" | head -n 1)}
start=$(grep -o '"windowStart":"[^"]*"' <<<"$newest" | cut -d '"' -f 4)
ts=${2:-${start/:00.000Z/:30.000Z}}

curl -sS --fail-with-body -H "Authorization: Bearer $KEY" \
  "$server/v1/$coin/markets/$market/snapshots/at?ts=$ts&depth=5&maxAgeMs=5000"
