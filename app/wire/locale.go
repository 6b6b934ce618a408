//go:build linux && !headless

package wire

// Fyne reads the user's locale while packages are initialized, before main, and complains on standard error of
// "C.UTF-8", the usual locale of containers, which is no language tag. locale.c makes it plain "C" earlier still.

import "C"
