// Package fakecard offers emulated cards to tests: a library with the functions of AMD's and NVIDIA's drivers that Ingot uses, which
// runs kernels on the processor (src/). Ingot loads it by a path in the environment.
//
// FAKECARD in the environment says what there is: words such as cards=4 memory=256M peers=0; see Config in src/card.h.
package fakecard

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
)

// Compiler is what builds the library and the kernels; "" where the machine has none.
func Compiler() string {
	for _, name := range []string{os.Getenv("FAKECARD_CXX"), "g++"} {
		if name != "" {
			if path, err := exec.LookPath(name); err == nil {
				return path
			}
		}
	}
	return ""
}

// Build makes the library, once for its source, and returns its path. without names functions that it shall not export.
func Build(without ...string) (string, error) {
	root, err := root()
	if err != nil {
		return "", err
	}
	src, err := filepath.Glob(filepath.Join(root, "tests/fakecard/src/*"))
	if err != nil || len(src) == 0 {
		return "", fmt.Errorf("no source of the emulated driver below %s: %v", root, err)
	}
	sort.Strings(src)
	dialect := filepath.Join(root, "kernels/gpu/dialect/host.h")
	level := "-O2"
	if len(without) > 0 {
		level = "-O0" // runs no kernels
	}
	// Two of these libraries in one process have nothing in common: symbolic.
	args := []string{"-std=c++17", level, "-fPIC", "-shared", "-pthread", "-fno-gnu-unique", "-Wl,-Bsymbolic", "-DHOST_DIALECT=\"" + dialect + "\""}
	for _, name := range without {
		args = append(args, "-D"+name+"="+name+"_is_missing")
	}
	h := sha256.New()
	fmt.Fprintln(h, args)
	for _, path := range append(src, dialect) {
		b, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		h.Write(b)
	}
	dir := filepath.Join(root, "build/fakecard")
	lib := filepath.Join(dir, "libfakecard-"+hex.EncodeToString(h.Sum(nil)[:6])+".so")
	if _, err := os.Stat(lib); err == nil {
		return lib, nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	part := fmt.Sprintf("%s.%d", lib, os.Getpid())
	args = append(args, "-Wl,-soname,"+lib, "-o", part)
	for _, path := range src {
		if strings.HasSuffix(path, ".cpp") {
			args = append(args, path)
		}
	}
	if out, err := exec.Command(Compiler(), append(args, "-ldl")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("the emulated driver: %w\n%s", err, out)
	}
	return lib, os.Rename(part, lib)
}

// root is the checkout's folder, above the one that tests run in.
func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("no go.mod above the working directory")
		}
		dir = up
	}
}

// Environment is what makes a process use the library at a path, with a configuration.
func Environment(lib, config string) []string {
	return []string{"INGOT_HIP_LIBRARY=" + lib, "INGOT_HIPRTC_LIBRARY=" + lib, "INGOT_RCCL_LIBRARY=" + lib,
		"INGOT_CUDA_LIBRARY=" + lib, "INGOT_NVRTC_LIBRARY=" + lib, "INGOT_NCCL_LIBRARY=" + lib, "FAKECARD=" + config}
}
