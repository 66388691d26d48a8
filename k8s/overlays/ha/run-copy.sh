#!/bin/sh
# Runs a copy of the engine: the arguments are those of redis-server. A copy that is asked to stop gives its place away
# first. It listens on a channel, which keepers see. They name another primary, answer without the copy, and let it go.
# Without their word it stops after LEAVE_WITHIN seconds, as when everything is stopped at once.
redis-server "$@" &
server=$!

leave() {
  REDISCLI_AUTH=$(sed -n 's/^masterauth //p' "${COPY_SETTINGS:-/run/secrets/copy.conf}")
  export REDISCLI_AUTH
  timeout "${LEAVE_WITHIN:-20}" redis-cli -p "${REDIS_PORT:-6379}" --user replica subscribe '{redbook}:leaving' </dev/null 2>&1 | {
    while read -r line && [ "$line" != go ]; do :; done
    kill -TERM "$server"
    # Keepers see it leave until the server has ended.
    cat >/dev/null
  }
}
trap leave TERM INT

# A signal ends a wait.
while kill -0 "$server" 2>/dev/null; do
  wait "$server"
  status=$?
done
exit "$status"
