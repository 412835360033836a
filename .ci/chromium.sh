# Install Chromium from the distribution's packages, as root or by sudo.
set -eu
command -v apt-get >/dev/null || { echo "install Chromium, as the command chromium, and run this again" >&2; exit 1; }
as_root=""
[ "$(id -u)" = 0 ] || as_root=sudo
$as_root apt-get update -qq
$as_root apt-get install -y -qq --no-install-recommends chromium >/dev/null
