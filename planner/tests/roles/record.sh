#!/bin/sh
# Runs roles_catalog.sql in a PostgreSQL of its own and writes what it answers: a statement a block, its rows or its error below it.
# Usage: record.sh <folder for a temporary cluster>; as a user that may run initdb.
set -e
export LC_ALL=C TZ=UTC PATH="/usr/lib/postgresql/15/bin:$PATH"
here=$(dirname "$(readlink -f "$0")")
initdb -D "$1/data" -U controller -E UTF8 --locale=C >/dev/null
pg_ctl -D "$1/data" -o "-k $1 -c listen_addresses= -c timezone=UTC" -w start >/dev/null
sed -e '/^--/d' -e 's/.*/\\echo @\n&;/' "$here/../checks/roles_catalog.sql" |
    psql -h "$1" -U controller -d postgres -XqAt -F '|' -P null='~' -v VERBOSITY=verbose 2>&1 |
    sed -e 's/^\(psql:[^ ]* \)*ERROR:  \([0-9A-Z]*\): /error \2 /' -e '/^LOCATION:/d' -e '/^LINE [0-9]/d' -e '/^ *^$/d' -e '/^HINT:/d' >"$1/answers"
sed '/^--/d' "$here/../checks/roles_catalog.sql" | awk -v answers="$1/answers" '
    BEGIN { getline line < answers }
    { print "> " $0; while ((getline line < answers) > 0 && line != "@") print line }' >"$here/expected.txt"
pg_ctl -D "$1/data" stop >/dev/null
