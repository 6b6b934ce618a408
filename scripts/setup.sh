#!/bin/sh
# Sees to it that this machine can build Ingot: looks first, installs only what is missing, is silent when nothing is.
#
#   scripts/setup.sh headless   Go and a C compiler
#   scripts/setup.sh window     the same, and what Fyne's window links: X11 and GL
#   scripts/setup.sh test       the same as window, what the tests of the window use: Xvfb, xdotool; and what those of the cards
#                               use: a C++ compiler, AMD's driver with the compiler in it, clang for NVIDIA's PTX
#   scripts/setup.sh arm64      the same as headless, and what tests arm64's kernels: a cross compiler, qemu-user
#   scripts/setup.sh has WHAT   only looks: exit status 0 when headless or window could be built now
#
# Debian and Ubuntu: installs with apt-get, by sudo where not root. Elsewhere it says what is missing.
# Exit status 1: something that WHAT cannot do without is missing; it has been named on standard error.
set -u
cd "$(dirname "$0")/.." || exit 1

say() { echo "ingot: $*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }

need_go() {
	if ! have go; then
		say "Go is not installed (no go command in PATH). Ingot is built with Go $go_min or newer."
		return 1
	fi
	# In this folder go switches to a newer toolchain by itself where it may; what it prints then is that one.
	v=$(go env GOVERSION 2>&1)
	minor=$(echo "$v" | sed -n 's/^go1\.\([0-9]*\).*$/\1/p')
	if [ -z "$minor" ] || [ "$minor" -lt "${go_min#1.}" ]; then
		say "Ingot is built with Go $go_min or newer; this is: $v"
		return 1
	fi
}
go_min=$(sed -n 's/^go \(1\.[0-9]*\).*/\1/p' go.mod)

# A C compiler with the C library's headers: cgo compiles the CPU kernels.
has_cc() {
	cc=$(go env CC 2>/dev/null)
	have "${cc%% *}" && printf '#include <stdlib.h>\n#include <pthread.h>\n' | $cc -E - >/dev/null 2>&1
}

x11_modules="gl x11 xext xrandr xxf86vm xi xcursor xinerama"
has_x11() {
	[ "$(uname)" = Darwin ] && return 0 # the system's frameworks
	# shellcheck disable=SC2086
	have pkg-config && pkg-config --exists $x11_modules 2>/dev/null
}

# AMD's driver, which compiles kernels whether there is a card or not.
has_hip() {
	for dir in /usr/lib/*-linux-gnu /usr/lib /usr/lib64 /opt/rocm/lib; do
		for lib in "$dir"/libamdhip64.so*; do
			[ ! -e "$lib" ] || return 0
		done
	done
	return 1
}

# A clang that makes PTX.
has_ptx() {
	for cc in clang clang-14 clang-15 clang-16 clang-19; do
		! have $cc || ! $cc --print-targets 2>/dev/null | grep -q nvptx64 || return 0
	done
	return 1
}

# apt PACKAGE... installs, says so in one line, and shows what apt said only when it failed.
apt() {
	have apt-get || return 1
	as=
	if [ "$(id -u)" != 0 ]; then
		have sudo || return 1
		as=sudo
		[ -t 0 ] || as="sudo -n" # nobody to ask for a password
		$as true 2>/dev/null || return 1
	fi
	say "installing $* (apt-get)"
	log=$(mktemp) || return 1
	options="-o DPkg::Lock::Timeout=120 -o Acquire::Retries=2 -o Acquire::http::Timeout=20"
	# Lists that cannot be fetched are not the end: those that are there may do.
	# shellcheck disable=SC2086
	{
		$as env DEBIAN_FRONTEND=noninteractive apt-get $options -qq update
		$as env DEBIAN_FRONTEND=noninteractive apt-get $options -qq --no-install-recommends -y install "$@"
	} </dev/null >"$log" 2>&1
	code=$?
	[ $code = 0 ] || tail -n 3 "$log" >&2
	rm -f "$log"
	return $code
}

cc_packages="gcc libc6-dev"
x11_packages="pkg-config libgl-dev libx11-dev libxext-dev libxrandr-dev libxxf86vm-dev libxi-dev libxcursor-dev libxinerama-dev"

missing_cc() {
	if [ "$(uname)" = Darwin ]; then
		say "the Xcode command line tools are missing. Install them with: xcode-select --install"
	else
		say "a C compiler with the C library's headers is missing and could not be installed."
		say "On Debian and Ubuntu: sudo apt-get install $cc_packages"
	fi
}

missing_x11() {
	say "the window is built with pkg-config and the development files of: $x11_modules"
	say "They are missing and could not be installed. On Debian and Ubuntu: sudo apt-get install $x11_packages"
	say "Without them, make headless builds Ingot for the terminal and as a server."
}

what=${1:-window}
if [ "$what" = has ]; then
	has_cc && { [ "${2:-window}" = headless ] || has_x11; }
	exit
fi

need_go || exit 1
if [ "$(uname)" = Darwin ]; then
	xcode-select -p >/dev/null 2>&1 || { missing_cc; exit 1; }
	exit 0
fi

lacks=
has_cc || lacks=$cc_packages
window=
case $what in headless | arm64) ;; *) window=1 ;; esac
[ -z "$window" ] || has_x11 || lacks="$lacks $x11_packages"
# shellcheck disable=SC2086
[ -z "$lacks" ] || apt $lacks
has_cc || { missing_cc; exit 1; }
[ -z "$window" ] || has_x11 || { missing_x11; exit 1; }

# The tests of the real window say themselves that they are skipped where these are not there.
if [ "$what" = test ]; then
	lacks=
	have Xvfb || lacks="$lacks xvfb"
	have xdotool || lacks="$lacks xdotool"
	# shellcheck disable=SC2086
	[ -z "$lacks" ] || apt $lacks || say "the tests of the real window want these:$lacks"
	# So do the tests of the cards' kernels, on emulated cards and with the compiler for real ones.
	lacks=
	have g++ || lacks="$lacks g++"
	has_hip || lacks="$lacks libamdhip64-5"
	has_ptx || lacks="$lacks clang"
	# shellcheck disable=SC2086
	[ -z "$lacks" ] || apt $lacks || say "the tests of the cards' kernels want these:$lacks"
fi

if [ "$what" = arm64 ]; then
	lacks=
	have aarch64-linux-gnu-gcc && [ -e /usr/aarch64-linux-gnu/include/stdlib.h ] || lacks="$lacks gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
	have qemu-aarch64 || lacks="$lacks qemu-user"
	# shellcheck disable=SC2086
	[ -z "$lacks" ] || apt $lacks || { say "the tests of arm64's kernels want these:$lacks"; exit 1; }
fi
exit 0
