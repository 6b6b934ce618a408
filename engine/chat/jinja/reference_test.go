package jinja

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// repoRoot is the folder that holds go.mod.
func repoRoot(t testing.TB) string {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for dir := here; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Skip("not inside a checkout")
		}
	}
}

// renderCase is one recorded rendering: what Python's jinja2 gave, or raised.
type renderCase struct {
	Template string
	Case     string
	Context  json.RawMessage
	Expected string
	Error    *struct{ Kind, Message string } `json:"expected_error"`
}

var recordedNow = time.Date(2026, 3, 7, 9, 5, 4, 0, time.UTC)

// checkCases renders every case of dir/cases.json with the templates beside it.
func checkCases(t *testing.T, dir string) {
	data, err := os.ReadFile(filepath.Join(dir, "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []renderCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	compiled := map[string]*Template{}
	same := 0
	for _, c := range cases {
		tmpl := compiled[c.Template]
		if tmpl == nil {
			src, err := os.ReadFile(filepath.Join(dir, c.Template))
			if err != nil {
				t.Fatal(err)
			}
			if tmpl, err = Compile(string(src)); err != nil {
				t.Fatalf("%s: %v", c.Template, err)
			}
			compiled[c.Template] = tmpl
		}
		vars, err := FromJSON(c.Context)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tmpl.Render(vars.(*Object), Limits{Now: func() time.Time { return recordedNow }})
		if c.Error != nil {
			kind, message := classify(err)
			switch {
			case kind != c.Error.Kind:
				t.Errorf("%s %s: got %q and error %v, want %s: %s", c.Template, c.Case, got, err, c.Error.Kind, c.Error.Message)
			case kind != "RecursionError" && message != c.Error.Message:
				t.Errorf("%s %s: raised %q, want %q", c.Template, c.Case, message, c.Error.Message)
			default:
				same++
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %s: %v", c.Template, c.Case, err)
		} else if got != c.Expected {
			t.Errorf("%s %s:\n got %q\nwant %q", c.Template, c.Case, got, c.Expected)
		} else {
			same++
		}
	}
	t.Logf("%d of %d cases as Python renders them", same, len(cases))
}

// classify names an error as Python would.
func classify(err error) (kind, message string) {
	var raised *RaiseError
	var failed *Error
	var limit *LimitError
	switch {
	case errors.As(err, &raised):
		return "raise_exception", raised.Message
	case errors.As(err, &failed):
		return failed.Kind, failed.Message
	case errors.As(err, &limit) && limit.Budget == "depth":
		return "RecursionError", ""
	}
	return "", ""
}

// Every published template that was recorded renders, or raises, exactly as in Python.
func TestPublishedTemplates(t *testing.T) {
	dir := filepath.Join(repoRoot(t), "..", "shared", "reference", "templates")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no reference data beside the checkout")
	}
	checkCases(t, dir)
}

// The templates of testdata are our own; record.py there recorded the cases from Python.
func TestOwnTemplates(t *testing.T) {
	checkCases(t, "testdata")
}
