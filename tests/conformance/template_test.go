package conformance

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ingot/engine"
	"ingot/engine/chat/jinja"
)

// templateCase is what Python's jinja2 rendered of a published template, or raised.
type templateCase struct {
	Template string
	Case     string
	Context  json.RawMessage
	Expected string
	Error    *struct{ Kind, Message string } `json:"expected_error"`
}

const recordedNow = "2026-03-07T09:05:04Z"

func templateCases(t *testing.T) (dir string, cases []templateCase) {
	dir = reference(t, "templates")
	b, err := os.ReadFile(filepath.Join(dir, "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	return dir, cases
}

// Through the facade: every case gives the text that Python gives, or raises where Python raises, with the same words
// where the template chose them.
func TestTemplatesEqualRecorded(t *testing.T) {
	dir, cases := templateCases(t)
	now, err := time.Parse(time.RFC3339, recordedNow)
	if err != nil {
		t.Fatal(err)
	}
	rendered, raised := 0, 0
	for _, c := range cases {
		source, err := os.ReadFile(filepath.Join(dir, c.Template))
		if err != nil {
			t.Fatal(err)
		}
		got, err := engine.RenderTemplate(string(source), c.Context, func() time.Time { return now })
		switch {
		case c.Error == nil && err != nil:
			t.Errorf("%s %s: %v", c.Template, c.Case, err)
		case c.Error == nil && got != c.Expected:
			t.Errorf("%s %s:\n got %q\nwant %q", c.Template, c.Case, got, c.Expected)
		case c.Error == nil:
			rendered++
		case err == nil:
			t.Errorf("%s %s: rendered, Python raises %s: %s", c.Template, c.Case, c.Error.Kind, c.Error.Message)
		case c.Error.Kind == "raise_exception" && raisedWords(err) != c.Error.Message:
			t.Errorf("%s %s: raised %q, Python %q", c.Template, c.Case, err, c.Error.Message)
		default:
			raised++
		}
	}
	t.Logf("%d cases rendered and %d raised as in Python, of %d", rendered, raised, len(cases))
}

// raisedWords are the words of raise_exception; "" of another error.
func raisedWords(err error) string {
	var r *jinja.RaiseError
	if errors.As(err, &r) {
		return r.Message
	}
	return ""
}

// Through the command: for every template its first case and its first error.
func TestTemplateCommand(t *testing.T) {
	dir, cases := templateCases(t)
	context := filepath.Join(t.TempDir(), "context.json")
	done := map[string]bool{}
	for _, c := range cases {
		key := c.Template
		if c.Error != nil {
			key += " error"
		}
		if done[key] {
			continue
		}
		done[key] = true
		if err := os.WriteFile(context, c.Context, 0o644); err != nil {
			t.Fatal(err)
		}
		got, stderr, code := ingot(t, "", "template", filepath.Join(dir, c.Template), "--context", context, "--now", recordedNow)
		if c.Error == nil && (code != 0 || got != c.Expected) {
			t.Errorf("%s %s: exit %d, %s\n got %q\nwant %q", c.Template, c.Case, code, stderr, got, c.Expected)
		}
		if c.Error != nil && (code != 1 || got != "" || c.Error.Kind == "raise_exception" && !strings.Contains(stderr, strings.ReplaceAll(c.Error.Message, "\n", "; "))) {
			t.Errorf("%s %s: exit %d, %q, %s, Python raises %s", c.Template, c.Case, code, got, stderr, c.Error.Message)
		}
	}
	t.Logf("%d command lines", len(done))
}
