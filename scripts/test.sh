#!/bin/sh
# Runs all tests, setting this machine up for them first. Arguments go to go test.
set -eu
cd "$(dirname "$0")/.."

without=
if ! scripts/setup.sh test; then
	# A machine where nothing can be installed still tests all but the window. CI must test everything.
	if [ -n "${CI:-}" ] || ! scripts/setup.sh has headless; then
		exit 1
	fi
	without='^ingot/app/window'
	echo "ingot: testing without the window's packages" >&2
fi

# The same flags as scripts/build.sh, so that what one compiles the other need not.
export GOFLAGS="${GOFLAGS:-} -trimpath -buildvcs=false"

code=0
if [ -z "$without" ]; then
	go test -timeout 20m "$@" ./... || code=$?
else
	# shellcheck disable=SC2046
	go test -timeout 20m -tags headless "$@" $(go list -tags headless ./... | grep -v "$without") || code=$?
	echo "ingot: the window was not tested, see above" >&2
fi
exit $code
