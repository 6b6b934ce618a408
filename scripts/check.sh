#!/bin/sh
# What a change must pass beside the tests: form, go vet for both builds, the layer rules, staticcheck.
set -u
cd "$(dirname "$0")/.." || exit 1
scripts/setup.sh window || exit 1
bad=0
fail() { echo "check: $*" >&2; bad=1; }

# Only files that are part of the project, whether committed yet or not.
form=$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l) || fail "gofmt"
[ -z "$form" ] || fail "gofmt -w these: $(echo "$form" | tr '\n' ' ')"
go vet ./... || fail "go vet"
go vet -tags headless . ./app/wire ./app/cli || fail "go vet -tags headless"
go test ./tests/layers || fail "layer rules"
if tool=$(go run "$1" -version 2>&1); then
	echo "check: $tool"
	go run "$1" ./... || fail "staticcheck"
else
	echo "check: staticcheck left out, it cannot be had here: $(echo "$tool" | tail -n 1)" >&2
fi
exit $bad
