#!/bin/sh
# Runs the queries in PostgreSQL and writes its answers: one block a query, rows sorted by bytes.
# Usage: record.sh <folder for a temporary cluster>; as a user that may run initdb.
set -e
export LC_ALL=C PATH="/usr/lib/postgresql/15/bin:$PATH"
here=$(dirname "$(readlink -f "$0")")
initdb -D "$1/data" -E UTF8 --locale=C >/dev/null
pg_ctl -D "$1/data" -o "-k $1 -c listen_addresses=" -w start >/dev/null
psql -h "$1" -d postgres -q -f "$here/data.sql"
while IFS= read -r query; do
    echo "$query"
    psql -h "$1" -d postgres -qAt -F '|' -P null='~' -v VERBOSITY=sqlstate -c "$query" 2>&1 | sed 's/^ERROR: */error /' | sort
    echo
done <"$here/queries.sql" >"$here/expected.txt"
pg_ctl -D "$1/data" stop >/dev/null
