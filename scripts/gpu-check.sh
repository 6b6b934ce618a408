#!/bin/sh
# Checks and measures Ingot on one graphics card, in at most eight minutes and without a network.
#
#   scripts/gpu-check.sh          cuda:0, or the card that CARD names (CARD=hip:0)
#   CARD=emulated scripts/gpu-check.sh   a dry run on an emulated card, with a small model
#   scripts/gpu-check.sh build    only builds what a machine without Go needs: bin/ingot, bin/check-kernels, bin/check-cards
#
# In order: the cards that are seen; every kernel against its plain meaning; tiny models of every architecture against the processor, on one
# lane and on several that share the card; decode and prefill of a model of Qwen3.5-4B's shape with random weights, Q4_K_M and Q8_0, in tokens a
# second and as shares of the card's bandwidth and bf16 peak (GPU_BANDWIDTH in GB/s and GPU_TFLOPS, known for common cards). Prompts are multiplied
# by int8 units, whose peak is twice that or more, with scales in f32 between (RATIONALE.md).
set -eu
cd "$(dirname "$0")/.."

build() {
	echo "gpu-check: building" >&2
	export CGO_ENABLED=1
	go build -trimpath -buildvcs=false -tags headless -o bin/ingot .
	go test -c -trimpath -buildvcs=false -tags headless -o bin/check-kernels ./tests/gpu
	go test -c -trimpath -buildvcs=false -tags headless -o bin/check-cards ./tests/cards
}

if command -v go >/dev/null 2>&1; then
	build
fi
[ "${1:-}" != build ] || exit 0
for f in ingot check-kernels check-cards; do
	[ -x "bin/$f" ] || { echo "gpu-check: no bin/$f and no Go to build it; scripts/gpu-check.sh build makes it elsewhere" >&2; exit 1; }
done

card=${CARD:-cuda:0}
# What is left of the eight minutes.
end=$(($(date +%s) + ${LIMIT:-460}))
left() {
	n=$((end - $(date +%s)))
	[ "$n" -gt 0 ] || { echo "gpu-check: out of time" >&2; exit 1; }
	echo "$n"
}
bad=0
# step NAME COMMAND...: goes on where one fails, for what comes later is worth knowing too.
step() {
	name=$1
	shift
	echo "== $name"
	if timeout "$(left)" "$@"; then
		echo "== $name: passed"
	else
		echo "== $name: FAILED ($?)"
		bad=1
	fi
}

if [ "$card" = emulated ]; then
	unset INGOT_TEST_CARD
	export INGOT_TEST_SHAPE=small
	# Compiling for emulated cards takes a second or two a kernel: some of each kind. make test runs all.
	kernels='TestWords|TestOrder|TestNorm|TestRope' one='TestOneCard/(llama|qwen35)_' several='TestTopologies/llama'
	time=3x
else
	export INGOT_TEST_CARD="$card"
	step "cards" bin/ingot devices
	time=3s
	kernels=. one=TestOneCard several=TestTopologies
	if [ -z "${GPU_BANDWIDTH:-}" ]; then
		case $(bin/ingot devices 2>/dev/null | grep "^$card" || true) in
		*H200*) GPU_BANDWIDTH=4800 GPU_TFLOPS=989 ;;
		*H100*) GPU_BANDWIDTH=3350 GPU_TFLOPS=989 ;;
		*A100*) GPU_BANDWIDTH=2039 GPU_TFLOPS=312 ;;
		*4090*) GPU_BANDWIDTH=1008 GPU_TFLOPS=165 ;;
		*3090*) GPU_BANDWIDTH=936 GPU_TFLOPS=71 ;;
		*) GPU_BANDWIDTH= GPU_TFLOPS= ;;
		esac
		export GPU_BANDWIDTH GPU_TFLOPS
	fi
fi
bin=$PWD/bin
cd tests/gpu
step "kernels" "$bin/check-kernels" -test.count 1 -test.run "$kernels" -test.timeout 5m
cd ../cards
step "models on one lane" "$bin/check-cards" -test.count 1 -test.run "$one"
step "models on several lanes" "$bin/check-cards" -test.count 1 -test.run "$several"
step "speed" "$bin/check-cards" -test.run '^$' -test.bench Speed -test.benchtime "$time" -test.timeout 10m
exit $bad
