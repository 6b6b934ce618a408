//go:build linux && !headless

// Runs before the Go runtime copies the environment: a locale "C.UTF-8" becomes "C", in place. See locale.go.
#include <stdlib.h>

__attribute__((constructor)) static void plain_locale(void) {
	static const char *const names[] = {"LC_ALL", "LC_MESSAGES", "LANG"};
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		char *value = getenv(names[i]);
		if (value && value[0] == 'C' && value[1] == '.')
			value[1] = 0;
	}
}
