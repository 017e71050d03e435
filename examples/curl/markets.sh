#!/usr/bin/env bash
# Lists the newest finished markets of a coin. Usage: KEY=bf_live_… curl/markets.sh [coin]
server=${SERVER:-http://127.0.0.1:3000}
coin=${1:-btc}

curl -sS --fail-with-body --compressed -H "Authorization: Bearer $KEY" \
  "$server/v1/$coin/markets?status=resolved&withBooks=true&limit=10"
