#!/bin/bash
# SPDX-License-Identifier: MIT
# install-deps.sh [demo]: installs what building and the demos need, and without the word what tests,
# checks and benches need too, where this Debian 12 lacks it. Needs no network when nothing is
# missing.
set -euo pipefail

packages=(
	# building; zlib1g-dev brings libc6-dev
	gcc make clang llvm libbpf-dev bpftool libelf-dev zlib1g-dev libjansson-dev linux-libc-dev
	nginx nginx-dev
	# make demo and make demo-http
	iproute2 ethtool iputils-ping nftables curl jq python3 procps util-linux
)
tests=(
	libcmocka-dev libclang-rt-dev mandoc openssl nghttp2-client wrk valgrind
	# other fronts, and a browser; haproxy is in make bench-http too
	haproxy caddy chromium
	# make check
	clang-format cppcheck shellcheck
)

if [ "${1:-}" != demo ]; then
	packages+=("${tests[@]}")
	# Some nodejs packages bring npm along.
	command -v npm >/dev/null || packages+=(nodejs npm)
fi

missing() {
	local package

	for package; do
		dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null |
			grep -qx installed || echo "$package"
	done
}

mapfile -t absent < <(missing "${packages[@]}")
[ ${#absent[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ]; then
	echo "install-deps: cannot install ${absent[*]}: not root" >&2
	echo "hint: sudo scripts/install-deps.sh" >&2
	exit 1
fi
# nginx, haproxy and caddy are wanted as programs: a server that was not here before is not to start, now
# or at boot.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	trap 'rm -f $policy' EXIT
	printf '#!/bin/sh\nexit 101\n' >$policy
	chmod 755 $policy
fi
services_disable() {
	local service

	for service in nginx haproxy caddy; do
		case " ${absent[*]} " in
		*" $service "*) systemctl disable "$service" >/dev/null 2>&1 || true ;;
		esac
	done
}

echo "install-deps: installing ${absent[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
apt-get -qq -o Dpkg::Use-Pty=0 install --no-install-recommends -y "${absent[@]}" >/dev/null
services_disable
