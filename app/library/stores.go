package library

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Stores are the folders of other programs that keep models. Those that do not exist are passed over.
type Stores struct {
	HF       []string // hub caches: models--USER--REPO/snapshots/COMMIT/...
	LMStudio []string // USER/REPO/FILE.gguf
	Ollama   []string // manifests/ and blobs/
	Llama    []string // llama.cpp's cache: USER_REPO_FILE.gguf
}

// Found is a model in a store.
type Found struct {
	Name   string   // of the file, or Ollama's name:tag
	Ref    string   // what Find takes: user/repo:QUANT, user/repo:file.gguf, name:tag; "" where the store does not tell
	Repo   string   // user/repo, or ""
	File   string   // path inside the repo
	Paths  []string // absolute, first part first
	Bytes  int64    // all parts
	Source string
	Added  bool // the library has it
}

// LocalStores returns the stores of this user, by the environment variables of the programs that own them.
func LocalStores() Stores {
	home, _ := os.UserHomeDir()
	return localStores(runtime.GOOS, os.Getenv, home)
}

func localStores(goos string, env func(string) string, home string) Stores {
	var s Stores
	add := func(list *[]string, base string, more ...string) {
		if !filepath.IsAbs(base) {
			return
		}
		if p := filepath.Join(append([]string{base}, more...)...); !slices.Contains(*list, p) {
			*list = append(*list, p)
		}
	}
	add(&s.HF, env("HF_HUB_CACHE"))
	add(&s.HF, env("HUGGINGFACE_HUB_CACHE"))
	add(&s.HF, env("HF_HOME"), "hub")
	add(&s.HF, env("LLAMA_CACHE")) // llama.cpp keeps downloads in the hub's layout since 2026
	add(&s.HF, env("XDG_CACHE_HOME"), "huggingface", "hub")
	add(&s.HF, home, ".cache", "huggingface", "hub")

	lm := filepath.Join(home, ".lmstudio")
	if b, err := os.ReadFile(filepath.Join(home, ".lmstudio-home-pointer")); err == nil {
		lm = strings.TrimSpace(string(b))
	}
	var settings struct {
		Downloads string `json:"downloadsFolder"`
	}
	if b, err := os.ReadFile(filepath.Join(lm, "settings.json")); err == nil && json.Unmarshal(b, &settings) == nil {
		add(&s.LMStudio, settings.Downloads)
	}
	add(&s.LMStudio, lm, "models")
	add(&s.LMStudio, home, ".cache", "lm-studio", "models")

	add(&s.Ollama, env("OLLAMA_MODELS"))
	add(&s.Ollama, home, ".ollama", "models")
	if goos == "linux" {
		add(&s.Ollama, "/usr/share/ollama/.ollama/models") // where it runs as a service
	}

	add(&s.Llama, env("LLAMA_CACHE"))
	if goos == "darwin" {
		add(&s.Llama, home, "Library", "Caches", "llama.cpp")
	} else {
		add(&s.Llama, env("XDG_CACHE_HOME"), "llama.cpp")
		add(&s.Llama, home, ".cache", "llama.cpp")
	}
	return s
}

// Discover lists what the stores hold, without opening the models. A file that two stores reach is listed once.
func (l *Library) Discover() []Found {
	var all []Found
	for _, root := range l.stores.HF {
		all = append(all, hubModels(root)...)
	}
	for _, root := range l.stores.LMStudio {
		all = append(all, studioModels(root)...)
	}
	for _, root := range l.stores.Ollama {
		all = append(all, ollamaModels(root)...)
	}
	for _, root := range l.stores.Llama {
		all = append(all, cachedModels(root)...)
	}
	seen := map[string]bool{}
	all = slices.DeleteFunc(all, func(f Found) bool {
		p := real(f.Paths[0])
		twice := seen[p]
		seen[p] = true
		return twice
	})
	nameFiles(all)
	saved, _ := l.saved() // without it nothing is marked
	added := map[string]bool{}
	for _, e := range saved {
		added[real(e.Path())] = true
	}
	for i := range all {
		all[i].Added = added[real(all[i].Paths[0])]
	}
	return all
}

// nameFiles gives the files of each repo their shortest names: the quantization where only one file has it.
func nameFiles(all []Found) {
	type tag struct{ source, repo, quant string }
	count := map[tag]int{}
	for _, f := range all {
		count[tag{f.Source, f.Repo, quantOf(f.Paths[0])}]++
	}
	for i := range all {
		f := &all[i]
		if f.Repo == "" || f.Ref != "" {
			continue
		}
		q := quantOf(f.Paths[0])
		if q == "" || count[tag{f.Source, f.Repo, q}] > 1 {
			q = f.File
		}
		f.Ref = f.Repo + ":" + q
	}
}

// modelsBelow lists the models in a folder of a store; what is broken there is that store's affair.
func modelsBelow(root, source, repo string, depth int) []Found {
	var list []Found
	walkModels(context.Background(), root, depth, func(parts []string, bytes int64) {
		base := root
		if r, err := filepath.EvalSymlinks(root); err == nil {
			base = r
		}
		file, _ := filepath.Rel(base, parts[0])
		list = append(list, Found{Name: stem(parts[0]), Repo: repo, File: file, Paths: parts, Bytes: bytes, Source: source})
	}, func(string, error) {})
	return list
}

// hubModels reads a Hugging Face cache. Of a file in several snapshots the main one counts, then the newest.
func hubModels(root string) []Found {
	var list []Found
	for _, d := range folders(root) {
		repo, ok := strings.CutPrefix(d, "models--")
		if !ok {
			continue
		}
		dir := filepath.Join(root, d)
		repo = strings.Replace(repo, "--", "/", 1)
		have := map[string]bool{}
		for _, snap := range snapshots(dir) {
			for _, f := range modelsBelow(filepath.Join(dir, "snapshots", snap), SourceHF, repo, 3) {
				if !have[f.File] {
					have[f.File] = true
					list = append(list, f)
				}
			}
		}
	}
	return list
}

// snapshots lists the commits of a cached repo, main's first, then the newest first.
func snapshots(repo string) []string {
	names := folders(filepath.Join(repo, "snapshots"))
	b, _ := os.ReadFile(filepath.Join(repo, "refs", "main"))
	main := strings.TrimSpace(string(b))
	age := func(n string) time.Time {
		if n == main {
			return time.Unix(1<<40, 0)
		}
		return modified(filepath.Join(repo, "snapshots", n))
	}
	slices.SortStableFunc(names, func(a, b string) int { return age(b).Compare(age(a)) })
	return names
}

// studioModels reads LM Studio's folder.
func studioModels(root string) []Found {
	var list []Found
	for _, user := range folders(root) {
		for _, repo := range folders(filepath.Join(root, user)) {
			list = append(list, modelsBelow(filepath.Join(root, user, repo), SourceLMStudio, user+"/"+repo, 2)...)
		}
	}
	return list
}

// cachedModels reads llama.cpp's own cache, where user, repo and file are joined by underscores, so that only
// a search for a known repo can tell them apart (see inRepo).
func cachedModels(root string) []Found {
	list := modelsBelow(root, SourceLlama, "", 1)
	return slices.DeleteFunc(list, func(f Found) bool { return strings.ContainsRune(f.File, filepath.Separator) })
}

// folders lists the folders, or links to folders, in a folder.
func folders(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if st, err := os.Stat(filepath.Join(dir, e.Name())); err == nil && st.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}
