package library

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

var (
	splitPattern = regexp.MustCompile(`(?i)^(.*)-(\d{5})-of-(\d{5})\.gguf$`)
	quantPattern = regexp.MustCompile(`(?i)(?:^|[-._])((?:UD-)?(?:I?Q[1-8]_[0-9A-Z]+(?:_[0-9A-Z]+)*|TQ[12]_0|BF16|F16|F32|(?:MX|NV)FP4(?:_[A-Z]+)?))$`)
)

// splitName takes NAME-00002-of-00003.gguf apart: the path up to the number, 2 and 3.
func splitName(path string) (prefix string, no, count int, ok bool) {
	m := splitPattern.FindStringSubmatch(path)
	if m == nil {
		return "", 0, 0, false
	}
	no, _ = strconv.Atoi(m[2]) // five digits
	count, _ = strconv.Atoi(m[3])
	return m[1], no, count, no >= 1 && no <= count
}

// partsOf returns all files of the model that a file belongs to, first part first, whether they exist or not.
func partsOf(path string) []string {
	prefix, _, count, ok := splitName(path)
	if !ok {
		return []string{path}
	}
	ext := path[len(path)-len(".gguf"):]
	parts := make([]string, count)
	for i := range parts {
		parts[i] = fmt.Sprintf("%s-%05d-of-%05d%s", prefix, i+1, count, ext)
	}
	return parts
}

// stem is a file's name without folder, part number and ending: what people call the model.
func stem(path string) string {
	base := filepath.Base(path)
	if prefix, _, _, ok := splitName(base); ok {
		return prefix
	}
	if isGGUF(base) {
		return base[:len(base)-len(".gguf")]
	}
	return base
}

// quantOf returns the quantization that a file's name ends with, in capitals, or "".
func quantOf(path string) string {
	if m := quantPattern.FindStringSubmatch(stem(path)); m != nil {
		return strings.ToUpper(m[1])
	}
	return ""
}

func isGGUF(name string) bool { return strings.EqualFold(filepath.Ext(name), ".gguf") }

// isProjector tells an image encoder, which goes with a model and is none, by its name.
func isProjector(name string) bool {
	return strings.Contains(strings.ToLower(filepath.Base(name)), "mmproj")
}

// walkModels calls found with the first part of every model below root, and failed for folders that cannot be
// read and models with missing parts. Hidden folders below root are passed over. depth 0: any depth.
func walkModels(ctx context.Context, root string, depth int, found func(parts []string, bytes int64), failed func(path string, err error)) error {
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real // WalkDir does not enter a link
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			failed(path, err)
			return fs.SkipDir
		}
		if d.IsDir() {
			rel, _ := filepath.Rel(root, path)
			deep := depth > 0 && strings.Count(rel, string(filepath.Separator)) >= depth
			if path != root && (deep || strings.HasPrefix(d.Name(), ".")) {
				return fs.SkipDir
			}
			return ctx.Err()
		}
		if !isGGUF(d.Name()) || isProjector(d.Name()) {
			return nil
		}
		if _, no, _, ok := splitName(d.Name()); ok && no != 1 {
			if _, err := os.Stat(partsOf(path)[0]); err == nil || no != 2 {
				return nil // comes with the first part, or was reported with the second
			}
		}
		parts := partsOf(path)
		bytes, err := sizeOf(parts)
		if err != nil {
			failed(path, err)
			return nil
		}
		found(parts, bytes)
		return nil
	})
}

// sizeOf adds up the parts and fails on the first that is missing or no file.
func sizeOf(parts []string) (int64, error) {
	var n int64
	for i, p := range parts {
		st, err := os.Stat(p)
		switch {
		case err != nil && len(parts) > 1 && os.IsNotExist(err):
			return 0, fmt.Errorf("part %d of %d is missing: %s", i+1, len(parts), filepath.Base(p))
		case err != nil:
			return 0, err
		case !st.Mode().IsRegular():
			return 0, fmt.Errorf("%s is not a file", p)
		}
		n += st.Size()
	}
	return n, nil
}
