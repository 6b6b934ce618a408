#!/bin/sh
# Builds the kernels' tests for arm64 and runs them under qemu-user: once on a processor with dotprod alone, once on one
# with i8mm too, so that every level of arm64 is compared with the plain meaning. It says nothing of speed.
#
#   scripts/test-arm64.sh [TEST]    TEST: a regular expression, as for go test -run; all tests of kernels/cpu where not given
set -eu
cd "$(dirname "$0")/.."
if ! scripts/setup.sh arm64; then
	# As in test.sh: where nothing can be installed the rest is tested still. CI must test everything.
	[ -z "${CI:-}" ] || exit 1
	echo "ingot: the kernels of arm64 were not tested, see above" >&2
	exit 0
fi

tests=build/arm64/cpu.test
mkdir -p build/arm64
GOARCH=arm64 CGO_ENABLED=1 CC=aarch64-linux-gnu-gcc GOFLAGS="${GOFLAGS:-} -trimpath -buildvcs=false" go test -c -o "$tests" ./kernels/cpu
tests=$PWD/$tests

# Emulation is slow: cases are fewer, and what is no kernel is left to make test. The products have a version of each level;
# all other kernels have one for both.
cd kernels/cpu
run() {
	echo "ingot: the kernels of arm64 on $1" >&2
	qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu "$1" "$tests" -test.short -test.run "$2" -test.skip 'Imports|Team|Limits' -test.timeout 10m
}
run cortex-a76 "${1:-TestMatmul|TestResidual|TestEveryNumberOfRows}"
run max "${1:-Test}"
