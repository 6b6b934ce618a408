package cpu

// macOS commits anonymous memory lazily by itself and chooses its page sizes.
const mapLazily = 0

func preferHugePages([]byte) {}
