#!/usr/bin/env bash
# Clones this repository into an empty Debian 12 (debootstrap, minbase, without git) and runs the README's two commands there, with
# nothing else typed. Needs root and debootstrap. Usage: check_bare.sh [FOLDER]   (kept if given, else made and removed)
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || { echo "check_bare: needs root (chroot)" >&2; exit 1; }
command -v debootstrap >/dev/null || { apt-get update -qq && apt-get install -y -qq debootstrap; }

root=${1:-$(mktemp -d)}
clean() {
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
for command in demo test; do
  start=$SECONDS
  chroot "$root" env -i "${settings[@]}" bash -c "cd /src && ./run $command"
  echo "== ./run $command on an empty machine: $((SECONDS - start)) s"
done
