#!/usr/bin/env bash
# Tries what ./run package made. bits: the programs give the results of build/release/quorate, that for arm64 under qemu. A Debian suite: a
# fresh system (debootstrap) where the README's first example runs with the static program, the Debian package, the container's files,
# and the wheel if the system's Python is 3.10 or newer. A Python: the tests of the package with the wheel for it.
# Usage: package/try.sh [WHAT..]   (default: bits bullseye bookworm trixie 3.10 3.11 3.12 3.13). Needs root, for chroot. Roots and
# environments stay in build/package.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || { echo "try: needs root (chroot)" >&2; exit 1; }
command -v debootstrap >/dev/null || { apt-get update -qq && apt-get install -y -qq debootstrap; }
dist=$PWD/build/package/dist
[ -e "$dist/SHA256SUMS" ] || { echo "try: expected $dist; type ./run package" >&2; exit 1; }
machine=$(uname -m)
settings=(PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8)
for name in $(env | grep -oiE '^(https?_proxy|no_proxy)' || true); do settings+=("$name=${!name}"); done
mounted=()
clean() { for mount in "${mounted[@]}"; do ! mountpoint -q "$mount" || umount -l "$mount"; done; }
trap clean EXIT

# The README's example with the program $1: the report of the training, and the first prediction.
# shellcheck disable=SC2016
example='set -e; cd /tmp; rm -rf mails.*; $0 generate users mails.jsonl --tasks 50 --examples 20000 --quiet
$0 train --data mails.jsonl --time-column time --model mails.model --labels 5/day --audit 0.1 | grep "labels bought"
$0 predict --model mails.model --data mails.jsonl --probabilities --to csv > mails.csv; sed -n 2p mails.csv; sha256sum < mails.csv'

wheel_for() { # version of Python: its wheel's name. PyPI has another project called quorate, so never by the name alone.
  local -a found=("$dist"/quorate-*-cp"${1/./}"-*-"manylinux"*_"$machine".whl)
  [ -e "${found[0]}" ] || found=("$dist"/quorate-*-abi3-*_"$machine".whl)
  basename "${found[0]}"
}

try_python() {
  local python env=build/package/try/$1
  local -a packages
  python=$(command -v "$HOME"/.pyenv/versions/"$1".*/bin/python3 "/usr/bin/python$1" | head -1) || { echo "== Python $1: not here"; return; }
  echo "== $("$python" --version), the tests of the package"
  rm -rf "$env"
  "$python" -m venv "$env"
  mapfile -t packages < <(sed -E 's/[=#].*//; /^$/d; /playwright/d' tests/requirements.txt) # the newest for this Python
  "$env/bin/pip" install -q --disable-pip-version-check --only-binary :all: "$dist/$(wheel_for "$1")" "${packages[@]}"
  # Away from the checkout's own sources, with the program of the wheel.
  QUORATE=$PWD/$env/bin/quorate "$env/bin/pytest" -q -n 2 -p no:cacheprovider -m "not check and not full" tests/python 2>&1 | tail -3
}

try_bits() {
  local program other programs=(build/release/quorate)
  for program in "$dist"/quorate-*-linux-*; do
    if [[ $program != *-"$machine" ]]; then
      printf '#!/bin/sh\nexec qemu-%s-static %s "$@"\n' "${program##*-}" "$program" >build/package/emulated
      chmod +x build/package/emulated
      program=build/package/emulated
    fi
    programs+=("$program")
  done
  echo "== the same model files, and predictions of each other's models, from ${programs[*]}"
  for program in "${programs[@]}"; do
    "$program" generate users build/package/mails.jsonl --tasks 20 --examples 2000 --quiet
    rm -f build/package/model
    "$program" train --data build/package/mails.jsonl --model build/package/model --labels 300 --audit 0.1 >/dev/null
    sha256sum <build/package/model
    for other in "${programs[@]}"; do "$other" predict --model build/package/model --data build/package/mails.jsonl | sha256sum; done
  done | sort | uniq -c | awk '{ print } END { exit NR != 2 }'
  echo "== the same results"
  python3 tools/check_same.py "${programs[@]}"
}

[ $# -gt 0 ] || set -- bits bullseye bookworm trixie 3.10 3.11 3.12 3.13
for suite in "$@"; do
  if [ "$suite" = bits ]; then
    try_bits
    continue
  elif [[ $suite = 3.* ]]; then
    try_python "$suite"
    continue
  fi
  root=build/package/roots/$suite
  mkdir -p build/package/roots
  [ -e "$root/etc/debian_version" ] || debootstrap --variant=minbase --include=ca-certificates,python3,python3-venv "$suite" "$root" >/dev/null
  for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
    [ -e $file ] && cp -L $file "$root$file"
  done
  mkdir -p "$root/proc" "$root/dev" "$root/dist"
  for mount in proc dev dist; do mounted+=("$root/$mount"); done
  mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
  mountpoint -q "$root/dev" || mount --rbind /dev "$root/dev"
  mountpoint -q "$root/dist" || mount --bind "$dist" "$root/dist"
  inside() { chroot "$root" env -i "${settings[@]}" "$@"; }
  echo "== $suite: Debian $(cat "$root/etc/debian_version"), $(inside ldd --version | head -1), $(inside python3 --version)"
  echo "-- the static program"
  inside sh -c "$example" "$(cd "$dist" && echo /dist/quorate-*-linux-"$machine")"
  echo "-- the Debian package"
  inside sh -c "dpkg -i /dist/quorate_*_$(dpkg --print-architecture).deb >/dev/null; dpkg -L quorate | grep -E 'bin/|service|man1'"
  inside sh -c "$example" quorate
  inside dpkg -P quorate >/dev/null
  if [ "$suite" = bookworm ]; then
    echo "-- the C++ library"
    rm -rf "$root/project" && cp -r tests/install/project "$root"
    # shellcheck disable=SC2016
    inside sh -c 'apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y "$(echo /dist/quorate-dev_*.deb)" g++ cmake make >/dev/null
      cmake -S /project -B /project/build >/dev/null && make -C /project/build >/dev/null && /project/build/user'
  fi
  echo "-- the container's files alone, as another user"
  rm -rf "$root/container"
  mkdir -p "$root/container/usr/bin" "$root/container/state"
  cp build/package/container/"$(dpkg --print-architecture)"/quorate "$root/container/usr/bin"
  chown 65532:65532 "$root/container/state"
  chroot --userspec=65532:65532 "$root/container" /usr/bin/quorate generate users /state/mails.jsonl --tasks 50 --examples 2000 --quiet
  chroot --userspec=65532:65532 "$root/container" /usr/bin/quorate train --data /state/mails.jsonl --model /state/m | grep "labels bought"
  if inside python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
    echo "-- the wheel, in an environment of its own"
    # shellcheck disable=SC2016
    inside sh -c 'rm -rf /env ~/.cache && python3 -m venv /env && date +%s.%N >/begin && /env/bin/pip install -q --disable-pip-version-check \
      "/dist/$0" && date +%s.%N >/installed' "$(wheel_for "$(inside python3 -c 'import sys; print(*sys.version_info[:2], sep=".")')")"
    inside sh -c "$example" /env/bin/quorate
    inside /env/bin/python -c 'import quorate; m = quorate.Cohort().fit([[1.0], [-1.0]] * 50, ["a", "b"] * 50); print(m.predict([[1.0]]))'
    inside python3 -c 'import time; a, b = (float(open(f).read()) for f in ("/begin", "/installed"))
print(f"{b - a:.1f} s for pip install, {time.time() - b:.1f} s for both examples")'
  fi
done
