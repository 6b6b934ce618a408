package library

import (
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

const (
	ollamaModelLayer = "application/vnd.ollama.image.model"
	ollamaManifest   = 1 << 20 // bytes; they have some hundred
)

var ollamaDigest = regexp.MustCompile(`^sha256[:-]([0-9a-f]{64})$`)

// ollamaModels reads Ollama's manifests. A model's GGUF is the blob of its model layer; models in other forms
// have no such layer and are passed over.
func ollamaModels(root string) []Found {
	var list []Found
	manifests := filepath.Join(root, "manifests")
	filepath.WalkDir(manifests, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipDir
		}
		if d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			return nil
		}
		rel, _ := filepath.Rel(manifests, path)
		words := strings.Split(filepath.ToSlash(rel), "/") // host, namespace, name, tag
		if len(words) < 4 {
			return nil
		}
		blob := ollamaBlob(root, path)
		if blob == "" {
			return nil
		}
		size, err := sizeOf([]string{blob})
		if err != nil {
			return nil
		}
		f := Found{Paths: []string{blob}, Bytes: size, Source: SourceOllama}
		tag := words[len(words)-1]
		name := words[:len(words)-1]
		switch {
		case name[0] == "registry.ollama.ai" && name[1] == "library":
			name = name[2:]
		case name[0] == "registry.ollama.ai":
			name = name[1:]
		case name[0] == "hf.co" || name[0] == "huggingface.co":
			f.Repo, f.File = strings.Join(name[1:], "/"), tag
		}
		f.Name = strings.Join(name, "/") + ":" + tag
		f.Ref = f.Name
		list = append(list, f)
		return nil
	})
	return list
}

// ollamaBlob returns the path of a manifest's model layer, or "".
func ollamaBlob(root, manifest string) string {
	file, err := os.Open(manifest)
	if err != nil {
		return ""
	}
	defer file.Close()
	var m struct {
		Layers []struct {
			MediaType string `json:"mediaType"`
			Digest    string `json:"digest"`
		} `json:"layers"`
	}
	if json.NewDecoder(io.LimitReader(file, ollamaManifest)).Decode(&m) != nil {
		return ""
	}
	for _, l := range m.Layers {
		if d := ollamaDigest.FindStringSubmatch(l.Digest); l.MediaType == ollamaModelLayer && d != nil {
			return filepath.Join(root, "blobs", "sha256-"+d[1])
		}
	}
	return ""
}
