package gauge

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestFilesOfAMDGPU(t *testing.T) {
	pci = t.TempDir()
	defer func() { pci = "/sys/bus/pci/devices" }()
	dir := filepath.Join(pci, "0000:0a:00.0")
	put := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("mem_info_vram_total", "34342961152\n")
	if _, ok := Read("0000:0A:00.0"); ok {
		t.Error("a card that does not tell what is used")
	}
	put("mem_info_vram_used", "11329536\n")
	if r, ok := Read("0000:0A:00.0"); !ok || r != (Reading{Total: 34342961152, Used: 11329536, Load: -1}) {
		t.Errorf("memory alone: %+v, %v", r, ok)
	}
	put("gpu_busy_percent", "37\n")
	put("hwmon/hwmon3/temp1_input", "61000\n")
	if r, ok := Read("0000:0a:00.0"); !ok || r != (Reading{34342961152, 11329536, 0.37, 61}) {
		t.Errorf("%+v, %v", r, ok)
	}
	put("gpu_busy_percent", "busy\n")
	if r, _ := Read("0000:0a:00.0"); r.Load != -1 {
		t.Errorf("a load that is no number: %+v", r)
	}
}

// A library with one card at 0000:17:00.0, which knows no temperature of the card at ...18.
const fakeNVML = `
#include <string.h>
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **card) {
	static int cards[2];
	*card = strcmp(id, "0000:17:00.0") ? &cards[1] : &cards[0];
	return strncmp(id, "0000:1", 6) ? 6 : 0;
}
int nvmlDeviceGetMemoryInfo(void *card, unsigned long long *m) { (void)card; m[0] = 1000; m[1] = 600; m[2] = 400; return 0; }
int nvmlDeviceGetUtilizationRates(void *card, unsigned *u) { (void)card; u[0] = 83; u[1] = 20; return 0; }
int nvmlDeviceGetTemperature(void *card, int sensor, unsigned *c) {
	void *first;
	nvmlDeviceGetHandleByPciBusId_v2("0000:17:00.0", &first);
	*c = 55;
	return sensor || card != first ? 3 : 0;
}
`

func TestNVIDIAsLibrary(t *testing.T) {
	dir := t.TempDir()
	source, lib := filepath.Join(dir, "nvml.c"), filepath.Join(dir, "nvml.so")
	if err := os.WriteFile(source, []byte(fakeNVML), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", "-shared", "-fPIC", "-o", lib, source).CombinedOutput(); err != nil {
		t.Skipf("no C compiler: %v\n%s", err, out)
	}
	t.Setenv(nvmlLibrary, lib)
	was := library
	library = loadNVML
	defer func() { library = was }()
	if r, ok := Read("0000:17:00.0"); !ok || r != (Reading{1000, 400, 0.83, 55}) {
		t.Errorf("%+v, %v", r, ok)
	}
	if r, ok := Read("0000:18:00.0"); !ok || r != (Reading{1000, 400, 0.83, 0}) {
		t.Errorf("without a temperature: %+v, %v", r, ok)
	}
	if _, ok := Read("0000:23:00.0"); ok {
		t.Error("a card that is not there")
	}
	t.Setenv(nvmlLibrary, filepath.Join(dir, "missing.so"))
	if _, ok := Read("0000:17:00.0"); ok {
		t.Error("without a library")
	}
}
