# Runs a command where Redmine's Debian packages lie over /usr: they are unpacked under this folder, and nothing is installed.
set -e
here=$(dirname "$(readlink -f "$0")")
cd "$here"
mkdir -p upper work
mount -t overlay overlay -o "lowerdir=$here/tree/usr:/usr,upperdir=$here/upper,workdir=$here/work,userxattr" /usr
cd /usr/share/redmine
exec "$@"
