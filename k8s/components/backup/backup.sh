#!/bin/sh
# Backs up Postgres and the engine into /backups, and restores them.
#
#   backup.sh postgres           takes a base backup, and forgets what is older than the retention
#   backup.sh engine             copies the engine's files, and names the moment in the log of Postgres
#   backup.sh note KIND          notes a backup that was made elsewhere, or a rehearsal
#   backup.sh list               lists what can be restored
#   backup.sh restore-postgres   restores Postgres, to the end of its archive, into an empty folder
#   backup.sh restore-both       restores the newest copy of the engine, and Postgres as of that copy
#   backup.sh restore-both NAME  restores an older copy
#   backup.sh rehearse-postgres  restores Postgres as of the newest copy of the engine, and runs it
#   backup.sh rehearse-engine    restores the newest copy of the engine, and runs it
set -eu

copies=/backups/engine
rehearsal=/tmp/rehearsal
newest() { find "$copies" -name '*.tar.gz' | sort | tail -n 1 | sed 's|.*/||; s|\.tar\.gz$||' | grep .; }
login() { PGPASSWORD=$(cat /run/secrets/postgres-password) "$@"; }
ask() { login psql -qAtX -v ON_ERROR_STOP=1 -c "$1"; }
note() {
  ask "insert into backups (kind) values ('$1') on conflict (kind) do update set at = clock_timestamp()"
}
restore_postgres() {
  place=$1
  shift
  mkdir -p -m 700 "$place"
  pgbackrest --pg1-path="$place" "$@" restore
}
# A named moment needs no clocks that agree. It lies right before the copy, because Postgres must be the older one.
as_of() {
  printf -- '--type=name --target=%s --target-action=promote' "$1"
}
restore_engine() { tar -C "$1" -xzf "$copies/$2.tar.gz"; }

case ${1:-} in
  postgres)
    login pgbackrest stanza-create
    login pgbackrest --type=full backup
    note postgres
    ;;
  engine)
    mkdir -p "$copies"
    name=engine-$(date -u +%Y%m%dT%H%M%SZ)
    ask "select pg_create_restore_point('$name')" >/dev/null
    sh "$(dirname "$0")/backup-engine.sh" >"$copies/$name.new"
    gzip -1 "$copies/$name.new"
    segment=$(ask "select pg_walfile_name(pg_switch_wal())")
    until [ "$(ask "select last_archived_wal >= '$segment' from pg_stat_archiver")" = t ]; do sleep 1; done
    mv "$copies/$name.new.gz" "$copies/$name.tar.gz"
    days=$(sed -n 's/^repo1-retention-full=//p' "$PGBACKREST_CONFIG")
    find "$copies" -type f -mtime "+$days" -delete
    note engine
    ;;
  note) note "$2" ;;
  list)
    pgbackrest info
    ls -l "$copies"
    ;;
  restore-postgres) restore_postgres "$PGDATA" ;;
  restore-both)
    name=${2:-$(newest)}
    # shellcheck disable=SC2046
    restore_postgres "$PGDATA" $(as_of "$name")
    restore_engine /data "$name"
    ;;
  rehearse-postgres)
    # shellcheck disable=SC2046
    restore_postgres "$rehearsal" $(as_of "$(newest)")
    exec postgres -D "$rehearsal" -c hot_standby=off
    ;;
  rehearse-engine)
    mkdir -p "$rehearsal"
    restore_engine "$rehearsal" "$(newest)"
    exec redis-server /settings/redis.conf --dir "$rehearsal"
    ;;
  *)
    sed -n '2,/^set /p' "$0" | sed '$d'
    exit 2
    ;;
esac
