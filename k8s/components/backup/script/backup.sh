#!/bin/sh
# Backs up Postgres and the engine into /backups, or into object storage, and restores them.
#
#   backup.sh postgres           takes a base backup, forgets what is older than the retention, and copies the engine
#   backup.sh engine             copies the engine, and names the moment in the log of Postgres. Without PGBACKREST_STANZA,
#                                the name of the copy is the moment by the clock of Postgres
#   backup.sh begin KIND         notes that a backup is made elsewhere, or that a rehearsal begins
#   backup.sh note KIND          notes that it ended well
#   backup.sh list               lists what can be restored
#   backup.sh restore-postgres   restores Postgres, to the end of its archive, into an empty folder
#   backup.sh restore-both       restores the newest copy of the engine, and Postgres as of that copy
#   backup.sh restore-both NAME  restores an older copy
#   backup.sh rehearse [NAME]    restores both into /rehearsal, and recovers Postgres there
#   backup.sh rehearse-engine    restores the newest copy of the engine, or that of the file /run/rehearsal/copy, beside the
#                                second server of Postgres whose URL is in /run/rehearsal/database-url
set -eu

place=${BACKUPS:-/backups}
rehearsal=${REHEARSAL:-/rehearsal}
second=${SECOND:-/run/rehearsal}
secrets=${SECRETS:-/run/secrets}
settings=$(dirname "$0")
# Copies of the engine lie beside the archive of Postgres, by the same settings, which are pgBackRest's.
export RCLONE_CONFIG=/dev/null
case ${PGBACKREST_REPO1_TYPE:-posix} in
  posix) copies=$place/engine ;;
  s3)
    copies=:s3:$PGBACKREST_REPO1_S3_BUCKET${PGBACKREST_REPO1_PATH:-/backups}/engine
    export RCLONE_S3_PROVIDER=Other RCLONE_S3_NO_CHECK_BUCKET=true
    export RCLONE_S3_ENDPOINT="https://$PGBACKREST_REPO1_S3_ENDPOINT:${PGBACKREST_REPO1_STORAGE_PORT:-443}"
    export RCLONE_S3_REGION="$PGBACKREST_REPO1_S3_REGION"
    export RCLONE_S3_ACCESS_KEY_ID="${PGBACKREST_REPO1_S3_KEY:-}"
    export RCLONE_S3_SECRET_ACCESS_KEY="${PGBACKREST_REPO1_S3_KEY_SECRET:-}"
    [ "${PGBACKREST_REPO1_S3_URI_STYLE:-host}" = path ] || export RCLONE_S3_FORCE_PATH_STYLE=false
    [ -n "${PGBACKREST_REPO1_S3_KEY:-}" ] || export RCLONE_S3_ENV_AUTH=true
    [ -z "${PGBACKREST_REPO1_STORAGE_CA_FILE:-}" ] || export RCLONE_CA_CERT="$PGBACKREST_REPO1_STORAGE_CA_FILE"
    ;;
  *)
    echo "copies of the engine go into a folder or to S3, not to $PGBACKREST_REPO1_TYPE" >&2
    exit 1
    ;;
esac
names() { rclone lsf --include '*.tar.gz' "$copies" | sed 's|\.tar\.gz$||' | sort; }
newest() {
  names | tail -n 1 | grep . || {
    echo 'there is no copy of the engine' >&2
    return 1
  }
}
login() { PGPASSWORD=$(cat "$secrets/postgres-password") "$@"; }
# A Postgres elsewhere is named by the URL of its user.
ask() {
  if [ -n "${PGHOST:-}" ]; then login psql -qAtX -v ON_ERROR_STOP=1 -c "$1"
  else psql -qAtX -v ON_ERROR_STOP=1 -d "$(cat "$secrets/database-url")" -c "$1"; fi
}
# A backup that failed has begun when the first attempt did.
begin() {
  ask "insert into backups (kind) values ('$1') on conflict (kind) do update
    set begun_at = case when backups.at >= backups.begun_at then clock_timestamp() else backups.begun_at end"
}
note() {
  ask "insert into backups (kind, at) values ('$1', clock_timestamp())
    on conflict (kind) do update set at = clock_timestamp()"
}
back_up_postgres() {
  begin postgres
  login pgbackrest stanza-create
  login pgbackrest --type=full backup
  note postgres
}
# A copy can be restored with the base backups of its timeline that ended before it. Its name tells the newest of them:
# MOMENT.BASE. pgBackRest itself would take the newest base backup of all.
name_moment() {
  bases=$(pgbackrest info --output=json | sed 's/"archive":{"start":"/\n/g')
  moment=engine-$(date -u +%Y%m%dT%H%M%SZ)
  # Postgres must be the older one, so its moment lies before the copy.
  segment=$(ask "select pg_walfile_name(pg_create_restore_point('$moment'))")
  timeline=$(echo "$segment" | cut -c1-8)
  base=$(echo "$bases" | sed -n "s/^$timeline.*\"label\":\"\([0-9-]*F\)\".*/\1/p" | tail -n 1)
  [ -n "$base" ] || {
    echo "timeline $timeline has no base backup, and a copy cannot be restored without one: run 'backup.sh postgres'" >&2
    exit 1
  }
  echo "$moment.$base"
}
archive_moment() {
  segment=$(ask "select pg_walfile_name(pg_switch_wal())")
  until [ "$(ask "select last_archived_wal >= '$segment' from pg_stat_archiver")" = t ]; do sleep 1; done
}
# A Postgres of somebody else is restored to the moment itself.
read_moment() {
  ask "select to_char(clock_timestamp() at time zone 'utc', '\"engine-\"YYYYMMDD\"T\"HH24MISS\"Z\"')"
}
copy_engine() {
  begin engine
  mkdir -p "$place/new"
  find "$place/new" -mindepth 1 -mtime +0 -delete
  if [ -n "${PGBACKREST_STANZA:-}" ]; then name=$(name_moment); else name=$(read_moment); fi
  # Postgres knows the primary of an engine with copies.
  primary=$(ask 'select server from engine_copies')
  [ -z "$primary" ] || export REDIS_HOST="${primary%:*}" REDIS_PORT="${primary##*:}"
  TMPDIR=$place/new sh "$settings/backup-engine.sh" <"$secrets/redis-password" >"$place/new/$name.tar"
  gzip -1 "$place/new/$name.tar"
  [ -z "${PGBACKREST_STANZA:-}" ] || archive_moment
  rclone moveto "$place/new/$name.tar.gz" "$copies/$name.tar.gz"
  days=$(sed -n 's/^repo1-retention-full=//p' "$PGBACKREST_CONFIG")
  rclone delete --min-age "${days}d" "$copies"
  note engine
}
restore_postgres() {
  to=$1
  shift
  mkdir -p -m 700 "$to"
  pgbackrest --pg1-path="$to" "$@" restore
}
unpack() {
  rclone cat "$copies/$1.tar.gz" | tar -C "$2" -xz || {
    echo "the copy $1 is not whole, or not there" >&2
    return 1
  }
}
empty_rehearsal() {
  find "$rehearsal" -mindepth 1 -delete
  mkdir "$rehearsal/redis"
}
# A named moment needs no clocks that agree.
restore_both() {
  name=$3
  restore_postgres "$1" --set="${name#*.}" --type=name --target="${name%.*}" --target-timeline=current \
    --target-action=promote
  unpack "$name" "$2"
}

# A rehearsal settles into its Postgres. That must never be the one that runs.
check_other_server() {
  started='select pg_postmaster_start_time()'
  running=$(ask "$started")
  other=$(psql -qAtX -v ON_ERROR_STOP=1 -d "$(cat "$second/database-url")" -c "$started")
  [ "$running" != "$other" ] || {
    echo 'database-url names the server that runs: a rehearsal needs a second one' >&2
    exit 1
  }
}

case ${1:-} in
  postgres)
    back_up_postgres
    copy_engine
    ;;
  engine) copy_engine ;;
  begin) begin "$2" ;;
  note) note "$2" ;;
  list)
    pgbackrest info
    echo 'copies of the engine:'
    names
    ;;
  restore-postgres) restore_postgres "$PGDATA" ;;
  restore-both) restore_both "$PGDATA" "${DATA:-/data}" "${2:-$(newest)}" ;;
  rehearse-engine)
    check_other_server
    empty_rehearsal
    if [ -s "$second/copy" ]; then name=$(cat "$second/copy"); else name=$(newest); fi
    unpack "$name" "$rehearsal/redis"
    ;;
  rehearse)
    empty_rehearsal
    restore_both "$rehearsal/postgres" "$rehearsal/redis" "${2:-$(newest)}"
    # Nobody but the processes of the rehearsal reaches these copies.
    printf '%s\n' 'local all all trust' 'host all all 127.0.0.1/32 trust' >"$rehearsal/postgres/pg_hba.conf"
    # Recovers here, because a server that is started again and again would hide the first reason for which it ended.
    postgres -D "$rehearsal/postgres" -c hot_standby=off -c archive_mode=off -c listen_addresses= -k "$rehearsal" &
    server=$!
    until pg_isready -q -h "$rehearsal"; do
      kill -0 "$server" || exit 1
      sleep 1
    done
    kill -INT "$server"
    wait "$server"
    ;;
  *)
    sed -n '2,/^set /p' "$0" | sed '$d'
    exit 2
    ;;
esac
