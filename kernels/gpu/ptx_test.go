package gpu

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// NVIDIA's compiler comes with its toolkit alone, but clang compiles the same language: testdata/nvrtc.h declares what nvrtc has built in. What
// comes out is PTX; the assembler behind it, which counts registers, is nvrtc's own.

// clang is the first of these that makes PTX. Debian's all do.
func clang(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"clang", "clang-14", "clang-15", "clang-16", "clang-19"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if out, err := exec.Command(path, "--print-targets").Output(); err == nil && bytes.Contains(out, []byte("nvptx64")) {
			return path
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal("no clang that makes PTX; scripts/setup.sh test installs it")
	}
	t.Skip("kernels are not compiled for NVIDIA's cards: no clang that makes PTX (Debian: apt-get install clang-14)")
	return ""
}

// ptxKernel is what PTX says of a kernel.
type ptxKernel struct {
	name          string
	shared, local int // bytes of a block, of a thread
	mma, dp4a     int
}

var (
	ptxEntry  = regexp.MustCompile(`(?m)^\.visible \.entry (\w+)\(`)
	ptxShared = regexp.MustCompile(`(?m)^\.?.*\.shared \.align \d+ \.b8 (\w+)\[(\d+)\];`)
	ptxLocal  = regexp.MustCompile(`\.local \.align \d+ \.b8\s+\w+\[(\d+)\];`)
	// How many registers each shape takes: of d, a, b, c.
	ptxMMA = regexp.MustCompile(`mma\.sync\.aligned\.(m16n8k\d+)\.row\.col\.(\S+) \{([^}]*)\}, \{([^}]*)\}, \{([^}]*)\}, \{([^}]*)\};`)
)

var mmaForms = map[string][4]int{
	"m16n8k16 f32.bf16.bf16.f32": {4, 4, 2, 4},
	"m16n8k32 s32.s8.s8.s32":     {4, 4, 2, 4},
	"m16n8k16 s32.s8.s8.s32":     {4, 2, 1, 4},
}

// ptxKernels reads the kernels of a PTX text.
func ptxKernels(text string) (list []ptxKernel, err error) {
	entries := ptxEntry.FindAllStringSubmatchIndex(text, -1)
	for i, at := range entries {
		end := len(text)
		if i+1 < len(entries) {
			end = entries[i+1][0]
		}
		body := text[at[0]:end]
		k := ptxKernel{name: text[at[2]:at[3]], dp4a: strings.Count(body, "dp4a.s32.s32")}
		for _, m := range ptxLocal.FindAllStringSubmatch(body, -1) {
			n, _ := strconv.Atoi(m[1])
			k.local += n
		}
		mangled := fmt.Sprintf("_ZZ%d%sE", len(k.name), k.name)
		for _, m := range ptxShared.FindAllStringSubmatch(text, -1) {
			if n, _ := strconv.Atoi(m[2]); strings.HasPrefix(m[1], mangled) {
				k.shared += n
			}
		}
		k.mma = strings.Count(body, "mma.sync")
		forms := ptxMMA.FindAllStringSubmatch(body, -1)
		if len(forms) != k.mma {
			return nil, fmt.Errorf("%s: %d of %d mma.sync have an unknown form", k.name, k.mma-len(forms), k.mma)
		}
		for _, m := range forms {
			want, ok := mmaForms[m[1]+" "+m[2]]
			for o, n := range want {
				ok = ok && strings.Count(m[3+o], "%") == n && strings.Count(m[3+o], ",") == n-1
			}
			if !ok {
				return nil, fmt.Errorf("%s: no such multiply: %s", k.name, m[0])
			}
		}
		list = append(list, k)
	}
	return list, nil
}

// ptxModules are the modules to compile: each file for its first weight or shape, and products of prompts for weights with minima and with
// two scales a chunk; all where INGOT_PTX_ALL is set.
func ptxModules() (list []Module) {
	seen := map[string]bool{}
	for _, m := range Modules("cuda") {
		key := m.File
		if key == "product_mma.gpu" && (m.Weight == "q4_k_planes" || m.Weight == "q6_k_planes") {
			key += m.Weight
		}
		if !seen[key] || os.Getenv("INGOT_PTX_ALL") != "" {
			list = append(list, m)
		}
		seen[key] = true
	}
	return list
}

// Every kernel compiles as CUDA without a warning, keeps its arrays in registers and fits into what a block may have of LDS; products of prompts
// use matrix units where there are some, products of a few vectors the dot instruction.
func TestPTX(t *testing.T) {
	cc, dir := clang(t), t.TempDir()
	head, err := filepath.Abs("testdata/nvrtc.h")
	if err != nil {
		t.Fatal(err)
	}
	archs := []string{"sm_80"}
	if os.Getenv("INGOT_PTX_ALL") != "" {
		archs = append(archs, "sm_70", "sm_75", "sm_86")
	}
	for _, arch := range archs {
		t.Run(arch, func(t *testing.T) {
			var wait sync.WaitGroup
			slots := make(chan struct{}, runtime.NumCPU())
			for i, m := range ptxModules() {
				if strings.Contains(m.File, "_mma") && !HasMMA(arch) {
					continue
				}
				slots <- struct{}{}
				wait.Go(func() {
					defer func() { <-slots }()
					checkPTX(t, cc, head, filepath.Join(dir, fmt.Sprintf("%s-%d.cu", arch, i)), arch, m)
				})
			}
			wait.Wait()
		})
	}
}

func checkPTX(t *testing.T, cc, head, path, arch string, m Module) {
	text, err := Source("cuda", m)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		t.Error(err)
		return
	}
	cmd := exec.Command(cc, "--target=x86_64-linux-gnu", "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch="+arch, "-nocudainc", "-nocudalib", "-nostdinc", "-Xclang", "-target-feature",
		"-Xclang", "+ptx70", "-std=c++14", "-fdeclspec", "-O3", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-include", head, "-S", "-o", "-", path)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		t.Errorf("%v for %s: %v\n%s", m, arch, err, said.String())
		return
	}
	kernels, err := ptxKernels(out.String())
	if err != nil || len(kernels) == 0 {
		t.Errorf("%v for %s: %d kernels: %v", m, arch, len(kernels), err)
	}
	for _, k := range kernels {
		t.Logf("%s %s: %d bytes of LDS, %d mma, %d dp4a", k.name, m.Defines, k.shared, k.mma, k.dp4a)
		if k.local > 0 {
			t.Errorf("%v for %s: %s keeps %d bytes of a thread outside registers", m, arch, k.name, k.local)
		}
		if k.shared > 48<<10 {
			t.Errorf("%v for %s: %s takes %d bytes of LDS, of 48 KB that a declaration may", m, arch, k.name, k.shared)
		}
		packed := strings.HasSuffix(m.Weight, "_blocks") || strings.HasSuffix(m.Weight, "_planes")
		switch mma := strings.Contains(m.File, "_mma"); {
		case mma != (k.mma > 0):
			t.Errorf("%v for %s: %s has %d mma.sync", m, arch, k.name, k.mma)
		case packed && !mma && m.File != "repack.gpu" && k.dp4a == 0:
			t.Errorf("%v for %s: %s has no dp4a", m, arch, k.name)
		}
	}
}
