package cli

import (
	"strings"
	"testing"
)

// What is wrong whatever the model is refused with exit code 2, before anything is opened.
func TestMisuseIsRefusedFirst(t *testing.T) {
	for line, want := range map[string]string{
		"run sample --tmp 1 hi":                                "there is no option --tmp",
		"run sample --temp warm hi":                            `invalid value "warm" for --temp: expected a number`,
		"run sample --temp -1 hi":                              "temperature is -1",
		"run sample -tps 99 hi":                                "-tps is 99, expected 0 to 64",
		"run sample -ot ffn hi":                                `-ot has "ffn", expected PATTERN=CARD`,
		"serve sample --port 99999":                            "--port is 99999, expected 0 to 65535",
		"serve sample -t 5000":                                 "-t is 5000, expected 0 to 1024",
		"bench -m sample -p -5":                                "-p is -5, expected at least 0",
		"bench -m sample -t -1":                                "-t is -1, expected at least 0",
		"bench -m sample -b 0":                                 "-b is 0, expected at least 1",
		"bench -m sample -tps 99":                              "-tps is 99, expected 0 to 64",
		"bench -m sample -t 1,5000":                            "-t is 5000, expected 0 to 1024",
		"bench -m sample -ts x":                                "expected numbers above 0",
		"quantize sample x.gguf FOO":                           `unknown type "FOO": expected one of F32`,
		"quantize sample x.gguf Q4_0 --tensor-type attn_v=Q99": `unknown tensor type "Q99"`,
		"quantize sample x.gguf Q4_0 --tensor-type (=Q8_0":     "error parsing regexp",
		"template x.jinja --context x.json --now today":        `--now is "today"`,
	} {
		var said strings.Builder
		env := &Env{Stdin: strings.NewReader(""), Stdout: &said, Stderr: &said, Version: "1", Resolve: func(ref string) (string, error) {
			t.Errorf("%s: %s is looked for", line, ref)
			return ref, nil
		}}
		if code := Main(t.Context(), env, strings.Fields(line)); code != 2 || !strings.Contains(said.String(), want) {
			t.Errorf("%s: exit %d, %q, expected %q", line, code, said.String(), want)
		}
	}
}
