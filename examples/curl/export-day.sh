#!/usr/bin/env bash
# Downloads a day of a coin in one stream, and compares it with the SHA-256 of the bytes sent.
# Usage: KEY=bf_live_… curl/export-day.sh [2026-04-13] [file] [coin] [ndjson|csv|parquet]
server=${SERVER:-http://127.0.0.1:3000}
day=${1:-$(date -u +%Y-%m-%d)}
file=${2:-day.ndjson}
coin=${3:-btc}
format=${4:-ndjson}

authorization="Authorization: Bearer $KEY"
# Without --compressed: the file stays as sent, and so does its digest.
id=$(curl -sS --fail -H "$authorization" -o "$file" -w '%header{x-export-id}' \
  "$server/v1/$coin/export?day=$day&format=$format")
sent=$(curl -sS --fail -H "$authorization" "$server/v1/exports" |
  sed -n "s/.*\"exportId\":\"$id\"[^}]*\"sha256\":\"\([0-9a-f]*\)\".*/\1/p")
received=$( (sha256sum "$file" 2>/dev/null || shasum -a 256 "$file") | cut -d ' ' -f 1)
if [ -n "$sent" ] && [ "$sent" = "$received" ]; then
  printf '%s %s\n' "$received" "$file"
else
  printf '%s is not what was sent\n' "$file" >&2
  false
fi
