#!/bin/sh
# Builds bin/ingot, setting this machine up for it first. Go itself finds out whether anything has to be compiled.
#
#   scripts/build.sh window     with the window
#   scripts/build.sh headless   without it: links neither X nor GL
#   scripts/build.sh auto       for make run: with the window where there is a display or it can be built anyway
set -eu
cd "$(dirname "$0")/.."

kind=${1:-window}
if [ "$kind" = auto ]; then
	kind=window
	if [ "$(uname)" != Darwin ] && [ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && ! scripts/setup.sh has window; then
		# Nobody could see the window: do not install X and GL for it.
		echo "ingot: no display here, so this is built without the window; make build builds it with one" >&2
		kind=headless
	fi
fi
scripts/setup.sh "$kind"

# Outside git, or where git does not trust the folder, the version in the code stands.
version=$(git describe --tags --always --dirty 2>/dev/null || true)
tags=
[ "$kind" != headless ] || tags=headless
[ -e bin/ingot ] || echo "ingot: building; the first time takes some minutes" >&2
CGO_ENABLED=1 GOFLAGS="${GOFLAGS:-} -trimpath -buildvcs=false" \
	go build -tags "$tags" -ldflags "${version:+-X main.version=$version}" -o bin/ingot .
