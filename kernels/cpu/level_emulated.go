//go:build emulate_amx

package cpu

// A build with this tag runs every test at the AMX level too, on machines that have AVX-512 with BF16 but no tiles.
func init() { emulateTiles(true) }
