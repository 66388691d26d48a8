#!/bin/sh
# Writes a copy of the engine to stdout, as a tar archive of append-only files. Trading goes on.
#
#   docker compose run --rm -T backup-engine >backup/engine.tar
#   kubectl -n redbook exec -i redis-0 -- env TMPDIR=/data sh /etc/redis/backup-engine.sh <keys/backup/redis-password >backup/engine.tar
#
# Redis sends the copy, as to a new replica, so the script needs no disk of the engine. Below TMPDIR it needs room for what
# the engine holds. The password of the user `backup` comes from /run/secrets/redis-password, or else from stdin.
set -eu

password=/run/secrets/redis-password
[ -r "$password" ] || password=/dev/stdin
REDISCLI_AUTH=$(cat "$password")
export REDISCLI_AUTH
ask() { redis-cli -h "${REDIS_HOST:-localhost}" -p "${REDIS_PORT:-6379}" --user backup "$@"; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
trap 'exit 1' HUP INT TERM
files=$place/appendonlydir
mkdir "$files"
ask --rdb "$files/appendonly.aof.1.base.rdb" >&2
# A base without later files is whole, and Redis begins the next file itself.
echo 'file appendonly.aof.1.base.rdb seq 1 type b' >"$files/appendonly.aof.manifest"
tar -C "$place" -c appendonlydir
