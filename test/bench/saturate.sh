#!/bin/sh
# How many mutating reviews of a 4 kB Job per second, with all that two cores have.
# Usage: saturate.sh [folder of bench_server, default build/bench] [seconds a run]
# With URL=https://host:port/mutate and PID=... it loads a server that runs already.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bench=${1:-build/bench}
seconds=${2:-10}
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT INT TERM

"$bench/bench_server" --review 4000 > "$work/review.json"
REVIEW=$work/review.json
export REVIEW
if [ -z "${URL:-}" ]; then
  "$bench/bench_server" > "$work/port" &
  server=$!
  PID=$server
  tries=0
  until [ -s "$work/port" ]; do
    tries=$((tries + 1))
    [ "$tries" -le 100 ] || { echo "bench_server did not start" >&2; exit 1; }
    sleep 0.1
  done
  URL=https://127.0.0.1:$(cat "$work/port")/mutate
fi

echo "| connections | requests/s | p50 | p99 | not 2xx | resident |"
echo "|---|---|---|---|---|---|"
for connections in 8 64; do
  wrk -t1 -c"$connections" -d"${seconds}s" --latency -s "$here/post_review.lua" "$URL" > "$work/out"
  awk -v c="$connections" -v rss="$(awk '/VmRSS/ { printf "%.1f MiB", $2 / 1024 }' "/proc/$PID/status")" '
    /50%/ { p50 = $2 } /99%/ { p99 = $2 } /Requests\/sec/ { rate = $2 }
    /Non-2xx/ { bad = $NF } /Socket errors/ { bad = bad " " $0 }
    END { printf "| %s | %s | %s | %s | %s | %s |\n", c, rate, p50, p99, bad == "" ? 0 : bad, rss }' "$work/out"
done
