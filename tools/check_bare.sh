#!/usr/bin/env bash
# Clones this repository into an empty Debian 12 (debootstrap, minbase, without git) and runs the README's commands there, with
# nothing else typed: the server, the demo and the tests. Needs root and debootstrap.
# Usage: check_bare.sh [FOLDER]   (kept if given, else made and removed)
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || { echo "check_bare: needs root (chroot)" >&2; exit 1; }
command -v debootstrap >/dev/null || { apt-get update -qq && apt-get install -y -qq debootstrap; }

root=${1:-$(mktemp -d)}
# The server in the empty machine: whatever runs below it.
end_server() {
  local process
  for process in $(pgrep -x quorate || true); do
    [ "$(readlink "/proc/$process/root")" != "$(readlink -f "$root")" ] || kill -TERM "$process"
  done
}
clean() {
  end_server
  for mount in "$root/data" "$root/proc" "$root/dev"; do mountpoint -q "$mount" && umount -l "$mount"; done
  return 0
}
trap 'clean; [ "${kept:-0}" = 1 ] || rm -rf --one-file-system "$root"' EXIT
[ $# -gt 0 ] && kept=1

[ -e "$root/etc/debian_version" ] || debootstrap --variant=minbase --include=ca-certificates bookworm "$root" >/dev/null
# The network settings of this machine, so that packages can be had; nothing else comes from it.
for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
  [ -e $file ] && cp -L $file "$root$file"
done
mkdir -p "$root/proc" "$root/dev" "$root/data"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
data=${QUORATE_DATA:-../shared/data}
[ -d "$data" ] && mount --bind "$data" "$root/data"
rm -rf "$root/src"
git clone -q . "$root/src"
settings=(PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8)
for name in $(env | grep -oiE '^(https?_proxy|no_proxy)' || true); do settings+=("$name=${!name}"); done
[ -d "$data" ] && settings+=(QUORATE_DATA=/data)
bare() { chroot "$root" env -i "${settings[@]}" bash -c "cd /src && exec ./run $1"; }

# The server sets everything up by itself, prints an address and answers there; SIGTERM ends it.
start=$SECONDS
bare serve >"$root/serve.log" 2>&1 &
server=$!
until url=$(grep -oE -m 1 'Open http://[^ ]+' "$root/serve.log"); do
  kill -0 $server 2>/dev/null || { cat "$root/serve.log" >&2; echo "check_bare: ./run serve ended without an address" >&2; exit 1; }
  sleep 1
done
url=${url#Open }
curl -fsS "$url/readyz"
curl -fsS "$url/" | grep -o '<title>.*</title>'
curl -fsS "$url/v1/status" | grep -o '"examples":[0-9]*'
end_server
wait $server
echo "== ./run serve on an empty machine: $((SECONDS - start)) s"

for command in demo test; do
  start=$SECONDS
  bare "$command"
  echo "== ./run $command on an empty machine: $((SECONDS - start)) s"
done
