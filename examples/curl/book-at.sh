#!/usr/bin/env bash
# The book as of a moment: the state at or before it, never after. Fails if it is older than 5 s.
# Usage: KEY=bf_live_… curl/book-at.sh market time [coin]
set -euo pipefail
server=${SERVER:-http://127.0.0.1:3000}
market=${1:?the market: its conditionId, slug or an asset id}
ts=${2:?the moment: Unix milliseconds or RFC 3339}
coin=${3:-btc}

curl -sS --fail-with-body -H "Authorization: Bearer $KEY" \
  "$server/v1/$coin/markets/$market/snapshots/at?ts=$ts&depth=5&maxAgeMs=5000"
