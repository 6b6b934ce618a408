package gauge

import (
	"os"
	"runtime"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// nvml is NVIDIA's management library.
type nvml struct {
	// nvmlReturn_t nvmlInit_v2(void)
	init uintptr
	// nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *pciBusId, nvmlDevice_t *device)
	handleByAddress uintptr
	// nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
	memoryInfo uintptr
	// nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization)
	utilization uintptr
	// nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned int *celsius)
	temperature uintptr
}

// nvmlLibrary names the library, which a test may replace.
const nvmlLibrary = "INGOT_NVML_LIBRARY"

// library is loaded when it is first asked for, and then stays; nil: there is none.
var library = sync.OnceValue(loadNVML)

func loadNVML() *nvml {
	name := os.Getenv(nvmlLibrary)
	if name == "" {
		name = "libnvidia-ml.so.1"
	}
	handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil
	}
	n := &nvml{}
	for symbol, at := range map[string]*uintptr{"nvmlInit_v2": &n.init, "nvmlDeviceGetHandleByPciBusId_v2": &n.handleByAddress,
		"nvmlDeviceGetMemoryInfo": &n.memoryInfo, "nvmlDeviceGetUtilizationRates": &n.utilization, "nvmlDeviceGetTemperature": &n.temperature} {
		if *at, err = purego.Dlsym(handle, symbol); err != nil {
			return nil
		}
	}
	if !done(n.init) {
		return nil
	}
	return n
}

// done calls a function of the library and tells whether it succeeded. What it points at must not lie on a Go stack.
//
//go:uintptrescapes
func done(f uintptr, args ...uintptr) bool {
	code, _, _ := purego.SyscallN(f, args...)
	return int32(code) == 0
}

func nvidia(address string) (Reading, bool) {
	r := Reading{Load: -1}
	n := library()
	if n == nil {
		return r, false
	}
	name := append([]byte(address), 0)
	var card uintptr
	if !done(n.handleByAddress, uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(&card))) {
		return r, false
	}
	var memory struct{ total, free, used uint64 }
	if !done(n.memoryInfo, card, uintptr(unsafe.Pointer(&memory))) {
		return r, false
	}
	r.Total, r.Used = int64(memory.total), int64(memory.used)
	var busy struct{ card, memory uint32 } // percent
	if done(n.utilization, card, uintptr(unsafe.Pointer(&busy))) {
		r.Load = float64(busy.card) / 100
	}
	const core = 0 // the sensor on the chip
	var celsius uint32
	if done(n.temperature, card, core, uintptr(unsafe.Pointer(&celsius))) {
		r.Celsius = float64(celsius)
	}
	runtime.KeepAlive(name)
	return r, true
}
