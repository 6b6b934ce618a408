package driver

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"ingot/kernels/gpu"
)

// The real compiler for AMD's cards works on machines without one (Debian's libamdhip64-5 has it inside). An architecture that it does
// not know ends the process, so it runs in one of its own.

// gfxArchs are the compiled architectures: MI50, MI200, and the wave of 32 of RX 6000. The first one's table is printed.
var gfxArchs = []string{"gfx906:sramecc+:xnack-", "gfx90a:sramecc+:xnack-", "gfx1030"}

// gfxPatience is how long modules are compiled for the first architecture, so that a busy machine's tests end: a quiet one has compiled
// all of them by then. INGOT_GFX_ALL takes the time it needs.
const gfxPatience = 2 * time.Minute

const gfxCompile = "INGOT_TEST_COMPILE" // ARCH FOLDER: this process is the compiler's

// TestGfxCompiler is the compiling process: modules by their numbers on standard input, images into the folder.
func TestGfxCompiler(t *testing.T) {
	arch, dir, ok := strings.Cut(os.Getenv(gfxCompile), " ")
	if !ok {
		t.Skip("TestGfx runs this in a process of its own")
	}
	l, err := openHIP()
	if err != nil {
		t.Fatal(err)
	}
	c, err := hipCompiler(l)
	if err != nil {
		t.Fatal(err)
	}
	modules := gpu.Modules("hip")
	start := time.Now()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if arch == gfxArchs[0] && time.Since(start) > gfxPatience && os.Getenv("INGOT_GFX_ALL") == "" {
			break
		}
		var i int
		if _, err := fmt.Sscan(lines.Text(), &i); err != nil {
			t.Fatal(err)
		}
		text, err := gpu.Source("hip", modules[i])
		if err != nil {
			t.Fatal(err)
		}
		image, log, err := c.run(Source{Name: modules[i].File, Text: text}, arch, nil)
		if err != nil {
			t.Errorf("%v: %v\n%s", modules[i], err, log)
			continue
		}
		if err := os.WriteFile(imagePath(dir, i), image, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func imagePath(dir string, i int) string { return filepath.Join(dir, fmt.Sprintf("%d.co", i)) }

// chosen are the numbers of the modules to compile for an architecture: all for gfx906. For the others, where that would take minutes
// more and mostly tell the same again, each file for its first weight or shape; all where INGOT_GFX_ALL is set.
func chosen(arch string) []int {
	var numbers, others []int
	seen := map[string]bool{}
	for i, m := range gpu.Modules("hip") {
		if !seen[m.File] {
			numbers = append(numbers, i)
		} else if arch == gfxArchs[0] || os.Getenv("INGOT_GFX_ALL") != "" {
			others = append(others, i)
		}
		seen[m.File] = true
	}
	return append(numbers, others...)
}

// compileAll compiles modules for an architecture, in as many processes as there are processors, and returns the images.
func compileAll(t *testing.T, arch string, modules []int) map[int][]byte {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, parts := t.TempDir(), runtime.NumCPU()
	var wait sync.WaitGroup
	said := make([]error, parts)
	for p := range parts {
		var numbers strings.Builder
		for i := p; i < len(modules); i += parts {
			fmt.Fprintln(&numbers, modules[i])
		}
		cmd := exec.Command(exe, "-test.run", "^TestGfxCompiler$", "-test.v")
		cmd.Env = append(os.Environ(), gfxCompile+"="+arch+" "+dir)
		cmd.Stdin = strings.NewReader(numbers.String())
		wait.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				said[p] = fmt.Errorf("compiling for %s: %w\n%s", arch, err, out)
			}
		})
	}
	wait.Wait()
	if err := errors.Join(said...); err != nil {
		t.Fatal(err)
	}
	images := map[int][]byte{}
	for _, i := range modules {
		image, err := os.ReadFile(imagePath(dir, i))
		if err == nil {
			images[i] = image
		}
	}
	return images
}

// Every kernel compiles with the real compiler, keeps all its values in registers, fits into LDS, and where it multiplies quantized weights on
// gfx906 does so by the dot instruction. The table is what INGOT_GFX_TABLE, a file, gets.
func TestGfx(t *testing.T) {
	t.Setenv("INGOT_HIP_LIBRARY", "") // no emulated one
	if l, err := openHIP(); err != nil {
		t.Skipf("kernels are not compiled for AMD's cards: %v (Debian: apt-get install libamdhip64-5)", err)
	} else if _, err := hipCompiler(l); err != nil {
		t.Skipf("kernels are not compiled for AMD's cards: %v", err)
	}
	modules := gpu.Modules("hip")
	for _, arch := range gfxArchs {
		if arch != gfxArchs[0] && testing.Short() {
			continue
		}
		t.Run(arch, func(t *testing.T) {
			numbers := chosen(arch)
			images := compileAll(t, arch, numbers)
			var table strings.Builder
			table.WriteString("| kernel | VGPRs | SGPRs | LDS | waves a SIMD | v_dot4 |\n| --- | ---: | ---: | ---: | ---: | ---: |\n")
			if len(images) < len(numbers) {
				t.Logf("only %d of %d modules were compiled in %v: this machine is busy", len(images), len(numbers), gfxPatience)
			}
			if len(images) == 0 {
				t.Fatal("nothing was compiled")
			}
			for _, i := range numbers {
				m := modules[i]
				if images[i] == nil {
					continue
				}
				kernels, err := codeKernels(images[i])
				if err != nil || len(kernels) == 0 {
					t.Errorf("%v: %d kernels: %v", m, len(kernels), err)
				}
				for _, k := range kernels {
					if k.vgprSpills+k.sgprSpills > 0 || k.private > 0 {
						t.Errorf("%v: %s spills %d vector and %d scalar registers, and takes %d bytes of a thread's scratch", m, k.name, k.vgprSpills, k.sgprSpills, k.private)
					}
					if k.lds > 64<<10 {
						t.Errorf("%v: %s takes %d bytes of LDS", m, k.name, k.lds)
					}
					if strings.HasPrefix(arch, "gfx906") && dotted(m, k.name) && k.dots() == 0 {
						t.Errorf("%v: %s has no v_dot4", m, k.name)
					}
					name := k.name
					if m.Defines != "" {
						name += " " + m.Defines
					}
					fmt.Fprintf(&table, "| %s | %d | %d | %d | %d | %d |\n", name, k.vgprs, k.sgprs, k.lds, waves(k, m.Threads()), k.dots())
				}
			}
			if path := os.Getenv("INGOT_GFX_TABLE"); path != "" && arch == gfxArchs[0] {
				if err := os.WriteFile(path, []byte(table.String()), 0o666); err != nil {
					t.Error(err)
				}
			}
			t.Logf("%d modules for %s\n%s", len(numbers), arch, table.String())
		})
	}
}

// dotted tells whether a kernel multiplies quantized weights with quantized activations.
func dotted(m gpu.Module, kernel string) bool {
	return (strings.HasSuffix(m.Weight, "_blocks") || strings.HasSuffix(m.Weight, "_planes")) && !strings.Contains(kernel, "repack")
}

// waves is how many waves a SIMD of gfx9 can hold: of 10, as 256 vector registers in fours, and 64 KB of LDS for four SIMDs, allow.
func waves(k codeKernel, threads int) int {
	n := min(10, 256/((k.vgprs+3)/4*4))
	if k.lds > 0 {
		n = min(n, 64<<10/k.lds*(threads/64)/4)
	}
	return n
}
