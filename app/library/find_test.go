package library

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const hash = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// shelf makes one of every store and returns them with their common folder.
func shelf(t *testing.T) (Stores, string) {
	t.Helper()
	dir := folder(t)
	hub := "hub/models--Qwen--Qwen3-4B-GGUF/"
	manifest := func(layers string) string { return `{"schemaVersion":2,"layers":[` + layers + `]}` }
	model := func(digest string) string {
		return fmt.Sprintf(`{"mediaType":"application/vnd.ollama.image.model","digest":%q,"size":11}`, digest)
	}
	write(t, dir, map[string]string{
		hub + "blobs/aaa": "", hub + "blobs/bbb": "model new", hub + "refs/main": "c2",
		hub + "snapshots/c2/sub/Qwen3-4B-Q8_0-00001-of-00002.gguf": "", hub + "snapshots/c2/sub/Qwen3-4B-Q8_0-00002-of-00002.gguf": "",
		hub + "snapshots/c2/mmproj-F16.gguf":                          "",
		hub + "snapshots/c1/Qwen3-4B-Q4_K_M.gguf":                     "model old",
		hub + "snapshots/c2/Qwen3-4B-UD-Q4_K_M.gguf":                  "",
		hub + "snapshots/c2/torn-Q2_K-00001-of-00002.gguf":            "",
		"hub/models--org--one/snapshots/x/one-F16.gguf":               "",
		"hub/models--org--empty/snapshots/x/model.safetensors":        "x",
		"lm/unsloth/gemma-GGUF/gemma-Q4_0.gguf":                       "",
		"lm/Qwen/Qwen3-4B-GGUF/Qwen3-4B-Q4_K_M.gguf":                  "",
		"lm/unsloth/gemma-GGUF/odd.gguf":                              "",
		"llama/ggml-org_tiny_model_tiny-Q8_0.gguf":                    "",
		"llama/elsewhere/x.gguf":                                      "",
		"ollama/blobs/sha256-" + hash:                                 "model llama",
		"ollama/blobs/sha256-" + strings.Replace(hash, "0", "f", 1):   "model gemma",
		"ollama/manifests/registry.ollama.ai/library/llama3.2/latest": manifest(model("sha256:" + hash)),
		"ollama/manifests/registry.ollama.ai/library/llama3.2/1b":     manifest(model("sha256:" + strings.Replace(hash, "0", "f", 1))),
		"ollama/manifests/registry.ollama.ai/library/evil/latest":     manifest(model("sha256:../../../../etc/passwd")),
		"ollama/manifests/registry.ollama.ai/library/gone/latest":     manifest(model("sha256:" + strings.Repeat("a", 64))),
		"ollama/manifests/registry.ollama.ai/library/cloud/latest":    manifest(`{"mediaType":"application/vnd.ollama.image.tensor","digest":"sha256:` + hash + `"}`),
		"ollama/manifests/registry.ollama.ai/library/broken/latest":   "{",
		"ollama/blobs/sha256-" + strings.Replace(hash, "1", "e", 1):   "model phi",
		"ollama/manifests/hf.co/bart/phi-GGUF/Q4_K_M":                 manifest(model("sha256:" + strings.Replace(hash, "1", "e", 1))),
	})
	if err := os.Symlink("../../blobs/bbb", filepath.Join(dir, hub, "snapshots/c2/Qwen3-4B-Q4_K_M.gguf")); err != nil {
		t.Fatal(err)
	}
	at := func(n string) []string { return []string{filepath.Join(dir, n)} }
	return Stores{HF: at("hub"), LMStudio: at("lm"), Ollama: append(at("ollama"), filepath.Join(dir, "none")), Llama: at("llama")}, dir
}

func TestDiscover(t *testing.T) {
	stores, _ := shelf(t)
	got := map[string]string{}
	for _, f := range library(t, stores).Discover() {
		key := f.Ref
		if key == "" {
			key = f.Name
		}
		got[key] = fmt.Sprintf("%s %s %d %d", f.Source, filepath.Base(f.Paths[0]), len(f.Paths), f.Bytes)
	}
	want := map[string]string{
		"Qwen/Qwen3-4B-GGUF:UD-Q4_K_M":  "hf Qwen3-4B-UD-Q4_K_M.gguf 1 11",
		"Qwen/Qwen3-4B-GGUF:Q4_K_M":     "lmstudio Qwen3-4B-Q4_K_M.gguf 1 11", // and hf's, checked in TestFindInStores
		"Qwen/Qwen3-4B-GGUF:Q8_0":       "hf Qwen3-4B-Q8_0-00001-of-00002.gguf 2 22",
		"org/one:F16":                   "hf one-F16.gguf 1 11",
		"unsloth/gemma-GGUF:Q4_0":       "lmstudio gemma-Q4_0.gguf 1 11",
		"unsloth/gemma-GGUF:odd.gguf":   "lmstudio odd.gguf 1 11",
		"ggml-org_tiny_model_tiny-Q8_0": "llama.cpp ggml-org_tiny_model_tiny-Q8_0.gguf 1 11",
		"llama3.2:latest":               "ollama sha256-" + hash + " 1 11",
		"llama3.2:1b":                   "ollama sha256-" + strings.Replace(hash, "0", "f", 1) + " 1 11",
		"hf.co/bart/phi-GGUF:Q4_K_M":    "ollama sha256-" + strings.Replace(hash, "1", "e", 1) + " 1 9",
	}
	for k := range got {
		if want[k] == "" {
			t.Errorf("%s: %s", k, got[k])
		}
	}
	for k, w := range want {
		if got[k] != w {
			t.Errorf("%s: %q, want %q", k, got[k], w)
		}
	}
}

func TestFindInStores(t *testing.T) {
	stores, dir := shelf(t)
	l := library(t, stores)
	for ref, want := range map[string]string{
		"Qwen/Qwen3-4B-GGUF:Q4_K_M":                  "hub/models--Qwen--Qwen3-4B-GGUF/snapshots/c2/Qwen3-4B-Q4_K_M.gguf",
		"qwen/qwen3-4b-gguf:q4_k_m":                  "hub/models--Qwen--Qwen3-4B-GGUF/snapshots/c2/Qwen3-4B-Q4_K_M.gguf",
		"hf.co/Qwen/Qwen3-4B-GGUF:Q8_0":              "hub/models--Qwen--Qwen3-4B-GGUF/snapshots/c2/sub/Qwen3-4B-Q8_0-00001-of-00002.gguf",
		"Qwen/Qwen3-4B-GGUF:Qwen3-4B-UD-Q4_K_M.gguf": "hub/models--Qwen--Qwen3-4B-GGUF/snapshots/c2/Qwen3-4B-UD-Q4_K_M.gguf",
		"Qwen/Qwen3-4B-GGUF:UD-Q4_K_M":               "hub/models--Qwen--Qwen3-4B-GGUF/snapshots/c2/Qwen3-4B-UD-Q4_K_M.gguf",
		"org/one":                                    "hub/models--org--one/snapshots/x/one-F16.gguf",
		"org/one:f16":                                "hub/models--org--one/snapshots/x/one-F16.gguf",
		"unsloth/gemma-GGUF:Q4_0":                    "lm/unsloth/gemma-GGUF/gemma-Q4_0.gguf",
		"unsloth/gemma-GGUF:odd":                     "lm/unsloth/gemma-GGUF/odd.gguf",
		"ggml-org/tiny_model:Q8_0":                   "llama/ggml-org_tiny_model_tiny-Q8_0.gguf",
		"ggml-org/tiny_model:tiny-Q8_0.gguf":         "llama/ggml-org_tiny_model_tiny-Q8_0.gguf",
		"llama3.2":                                   "ollama/blobs/sha256-" + hash,
		"llama3.2:latest":                            "ollama/blobs/sha256-" + hash,
		"LLAMA3.2:1b":                                "ollama/blobs/sha256-" + strings.Replace(hash, "0", "f", 1),
		"bart/phi-GGUF:Q4_K_M":                       "ollama/blobs/sha256-" + strings.Replace(hash, "1", "e", 1),
		"hf.co/bart/phi-GGUF:Q4_K_M":                 "ollama/blobs/sha256-" + strings.Replace(hash, "1", "e", 1),
		"gemma-Q4_0":                                 "lm/unsloth/gemma-GGUF/gemma-Q4_0.gguf",
		"gemma":                                      "lm/unsloth/gemma-GGUF/gemma-Q4_0.gguf",
		"one-F16.gguf":                               "hub/models--org--one/snapshots/x/one-F16.gguf",
	} {
		e, err := l.Find(ref)
		if err != nil || e.Path() != filepath.Join(dir, want) || e.ID != 0 || e.Info.Architecture == "" {
			t.Errorf("%s: %s %v", ref, e.Path(), err)
		}
		if p, err := l.Resolve(ref); err != nil || p != e.Path() {
			t.Errorf("resolve %s: %s %v", ref, p, err)
		}
	}
	if e, err := l.Find("Qwen/Qwen3-4B-GGUF:Q4_K_M"); err != nil || e.Info.Architecture != "new" || e.Source != SourceHF {
		t.Errorf("not the main snapshot: %+v %v", e, err)
	}
	for ref, want := range map[string]error{
		"Qwen/Qwen3-4B-GGUF":      ErrAmbiguous,
		"Qwen/Qwen3-4B-GGUF:Q2_K": ErrNotFound,
		"nobody/nothing:Q4_0":     ErrNotFound,
		"Qwen3":                   ErrAmbiguous,
		"llama3":                  ErrAmbiguous,
		"evil":                    ErrNotFound,
		"gone":                    ErrNotFound,
		"zzz":                     ErrNotFound,
		"":                        ErrNotFound,
	} {
		_, err := l.Find(ref)
		if !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", ref, err, want)
		}
		t.Log(err)
	}

	e, err := l.AddRef(context.Background(), "llama3.2:1b")
	if err != nil || e.ID == 0 || e.Name != "llama3.2:1b" || e.Source != SourceOllama {
		t.Errorf("%+v %v", e, err)
	}
	if e2, err := l.Find("llama3.2:1b"); err != nil || e2.ID != e.ID {
		t.Errorf("%+v %v", e2, err)
	}
	for _, f := range l.Discover() {
		if f.Added != (f.Ref == "llama3.2:1b") {
			t.Errorf("%s: added is %v", f.Ref, f.Added)
		}
	}
	if _, err := l.AddRef(context.Background(), "sample"); !errors.Is(err, ErrSample) {
		t.Error(err)
	}
}

func TestFindInTheLibrary(t *testing.T) {
	l, dir := library(t, Stores{}), folder(t)
	write(t, dir, map[string]string{
		"Qwen3-4B-Q4_K_M.gguf": "", "Qwen3-8B-Q4_K_M.gguf": "", "Qwen3-8B-Q8_0.gguf": "", "gemma.gguf": "", "gemma-2.gguf": "",
		"x/same.gguf": "", "y/same.gguf": "", "not-added/other.gguf": "", "pair/one.gguf": "", "pair/two.gguf": "", "none/readme": "x", "single/s.gguf": "",
	})
	for _, f := range []string{"Qwen3-4B-Q4_K_M.gguf", "Qwen3-8B-Q4_K_M.gguf", "Qwen3-8B-Q8_0.gguf", "gemma.gguf", "gemma-2.gguf", "x", "y"} {
		if _, err := l.Add(context.Background(), filepath.Join(dir, f)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for ref, want := range map[string]string{
		"Qwen3-4B-Q4_K_M":                    "Qwen3-4B-Q4_K_M.gguf",
		"qwen3-4b":                           "Qwen3-4B-Q4_K_M.gguf",
		"8b-q8_0":                            "Qwen3-8B-Q8_0.gguf",
		"q8_0":                               "Qwen3-8B-Q8_0.gguf",
		"gemma":                              "gemma.gguf", // the whole name wins over the beginning
		"title of gemma-2":                   "gemma-2.gguf",
		"not-added/other.gguf":               "not-added/other.gguf",
		filepath.Join(dir, "gemma.gguf"):     "gemma.gguf",
		"./gemma.gguf":                       "gemma.gguf",
		"./single":                           "single/s.gguf",
		filepath.Join(dir, "x", "same.gguf"): "x/same.gguf",
	} {
		e, err := l.Find(ref)
		if err != nil || e.Path() != filepath.Join(dir, want) {
			t.Errorf("%s: %s %v", ref, e.Path(), err)
		}
		if again, err := l.Find(e.Key()); err != nil || again.Path() != e.Path() {
			t.Errorf("by its key %s: %s %v", e.Key(), again.Path(), err)
		}
	}
	if e, err := l.Find("Sample"); err != nil || !e.IsSample() || e.Info.Architecture != "qwen35" || e.Key() != "sample" {
		t.Errorf("%+v %v", e, err)
	}
	for ref, c := range map[string]struct {
		err  error
		says string
	}{
		"qwen3":       {ErrAmbiguous, "Qwen3-4B-Q4_K_M, Qwen3-8B-Q4_K_M, Qwen3-8B-Q8_0"},
		"q4_k_m":      {ErrAmbiguous, "Qwen3-4B-Q4_K_M, Qwen3-8B-Q4_K_M"},
		"same":        {ErrAmbiguous, filepath.Join(dir, "x/same.gguf") + ", " + filepath.Join(dir, "y/same.gguf")},
		"nothing":     {ErrNotFound, "sample, Qwen3-4B-Q4_K_M"},
		"x/no.gguf":   {ErrNotFound, "there is no file x/no.gguf"},
		"./no":        {ErrNotFound, "there is no file ./no"},
		"./pair":      {ErrAmbiguous, "one.gguf, two.gguf"},
		"./none":      {ErrNoModels, ""},
		"none/readme": {nil, "not a GGUF file"},
	} {
		_, err := l.Find(ref)
		if err == nil || c.err != nil && !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", ref, err)
		}
		t.Log(err)
	}
}

func TestLocalStores(t *testing.T) {
	home := folder(t)
	write(t, home, map[string]string{
		".lmstudio-home-pointer": filepath.Join(home, "lms") + "\n",
		"lms/settings.json":      `{"downloadsFolder":"/big/models"}`,
	})
	env := map[string]string{"HF_HOME": "/hf", "OLLAMA_MODELS": "/om", "XDG_CACHE_HOME": "relative"}
	s := localStores("linux", func(k string) string { return env[k] }, home)
	want := Stores{
		HF:       []string{"/hf/hub", home + "/.cache/huggingface/hub"},
		LMStudio: []string{"/big/models", home + "/lms/models", home + "/.cache/lm-studio/models"},
		Ollama:   []string{"/om", home + "/.ollama/models", "/usr/share/ollama/.ollama/models"},
		Llama:    []string{home + "/.cache/llama.cpp"},
	}
	if fmt.Sprint(s) != fmt.Sprint(want) {
		t.Errorf("%v, want\n%v", s, want)
	}
	if s := localStores("darwin", func(string) string { return "" }, "/Users/u"); fmt.Sprint(s.Llama) != "[/Users/u/Library/Caches/llama.cpp]" || len(s.Ollama) != 1 {
		t.Errorf("%v", s)
	}
}

func TestQuantOf(t *testing.T) {
	for name, want := range map[string]string{
		"Qwen3-4B-Q4_K_M.gguf": "Q4_K_M", "m-UD-Q4_K_XL-00001-of-00002.gguf": "UD-Q4_K_XL", "gemma-it-q4_0.gguf": "Q4_0", "a.IQ4_NL.gguf": "IQ4_NL",
		"gpt-oss-20b-MXFP4.gguf": "MXFP4", "x_f16.gguf": "F16", "BF16.gguf": "BF16", "qwen-MXFP4_MOE.gguf": "MXFP4_MOE", "model.gguf": "", "Q4_0-thing.gguf": "", "IQ2_XXS.gguf": "IQ2_XXS", "b-TQ1_0.gguf": "TQ1_0",
	} {
		if got := quantOf(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
