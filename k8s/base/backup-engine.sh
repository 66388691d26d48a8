#!/bin/sh
# Writes the engine's append-only files to stdout, as a tar archive. Trading goes on.
#
#   docker compose run --rm -T backup-engine >backup/engine.tar
#   kubectl -n redbook exec -i redis-0 -- sh /etc/redis/backup-engine.sh <keys/admin/redis-password >backup/engine.tar
#
# It keeps Redis from rewriting the files meanwhile, and puts the setting back, also when it is interrupted. The password
# of the user `admin` comes from /run/secrets/redis-password, or else from stdin.
set -eu

password=/run/secrets/redis-password
[ -r "$password" ] || password=/dev/stdin
REDISCLI_AUTH=$(cat "$password")
export REDISCLI_AUTH
ask() { redis-cli -h "${REDIS_HOST:-localhost}" --user admin "$@"; }
setting=auto-aof-rewrite-percentage

before=$(ask config get "$setting" | tail -n 1)
# A copy that was killed may have left 0.
[ "$before" != 0 ] || before=100
trap 'ask config set "$setting" "$before" >&2' EXIT
trap 'exit 1' HUP INT TERM
ask config set "$setting" 0 >&2
until ask info persistence | tr -d '\r' | grep -c '^aof_rewrite_\(in_progress\|scheduled\):0$' | grep -q 2; do sleep 1; done
# The last file grows while it is copied. tar reports that as status 1, and the engine reads such a file.
tar -C /data -c appendonlydir || [ $? = 1 ]
