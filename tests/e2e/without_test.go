//go:build headless || !linux

package e2e

import "testing"

func TestWindow(t *testing.T) {
	t.Skip("the real window is tested on Linux, under Xvfb, in a build that has one")
}
