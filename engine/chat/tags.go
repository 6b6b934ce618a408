package chat

import (
	"regexp"
	"strings"
)

// Tags are the marks around a model's thoughts. The zero value: the model does not think aloud.
type Tags struct {
	Open, Close string
	// Answer and AnswerEnd are marks around what follows the thought, which are dropped; both may be empty.
	Answer, AnswerEnd string
	// Harmony: every part of an answer has a header that names its channel (gpt-oss).
	Harmony bool

	after string // what the model writes after Open and before Close
	gap   string // what it writes after Close
}

// knownTags lists the marks that published models use, most telling first: some templates mention several.
var knownTags = []struct {
	sign string // text of the template that gives the family away
	tags Tags
}{
	{"<|channel|>analysis", Tags{Open: "<|channel|>analysis<|message|>", Close: "<|end|>", Harmony: true}},
	{"<|channel>thought", Tags{Open: "<|channel>thought", Close: "<channel|>", after: "\n"}},
	{"<|START_THINKING|>", Tags{Open: "<|START_THINKING|>", Close: "<|END_THINKING|>", Answer: "<|START_TEXT|>", AnswerEnd: "<|END_TEXT|>"}},
	{"<|START_RESPONSE|>", Tags{Answer: "<|START_RESPONSE|>", AnswerEnd: "<|END_RESPONSE|>"}},
	{"<|begin|>assistant<|think|>", Tags{Open: "<|think|>", Close: "<|end|>", Answer: "<|begin|>assistant<|content|>"}},
	{"<|inner_prefix|>", Tags{Open: "<|inner_prefix|>", Close: "<|inner_suffix|>"}},
	{"[BEGIN FINAL RESPONSE]", Tags{Open: "Here are my reasoning steps:", Close: "[BEGIN FINAL RESPONSE]", AnswerEnd: "[END FINAL RESPONSE]", after: "\n", gap: "\n"}},
	{"[THINK]", Tags{Open: "[THINK]", Close: "[/THINK]"}},
	{"◁think▷", Tags{Open: "◁think▷", Close: "◁/think▷", after: "\n", gap: "\n\n"}},
	{"<think>", Tags{Open: "<think>", Close: "</think>", after: "\n", gap: "\n\n"}},
	{"</think>", Tags{Open: "<think>", Close: "</think>", after: "\n", gap: "\n\n"}},
}

// namedThink finds the think tags that carry a vendor's name: <seed:think>, <mm:think>, <think:opensource>.
var namedThink = regexp.MustCompile(`</((?:[a-z]{1,16}:)?think(?:ing)?(?::[a-z]{1,16})?)>`)

// DetectTags finds the marks that a template's source, or a prompt it rendered, mentions.
func DetectTags(source string) Tags {
	for _, k := range knownTags {
		if !strings.Contains(source, k.sign) {
			continue
		}
		t := k.tags
		switch {
		case k.sign == "<|START_THINKING|>" && strings.Contains(source, "<|START_RESPONSE|>"):
			t.Answer, t.AnswerEnd = "<|START_RESPONSE|>", "<|END_RESPONSE|>"
		case t.Open == "<think>" && strings.Contains(source, "<response></response>"):
			t.Answer, t.AnswerEnd = "<response>", "</response>" // Granite asks for both in its instructions
		}
		return t
	}
	if m := namedThink.FindStringSubmatch(source); m != nil {
		return Tags{Open: "<" + m[1] + ">", Close: "</" + m[1] + ">", after: "\n", gap: "\n\n"}
	}
	return Tags{}
}

func (t Tags) markers() []string {
	if t.Harmony {
		return []string{"<|channel|>", "<|message|>", "<|constrain|>", "<|start|>", "<|end|>", "<|call|>", "<|return|>"}
	}
	var out []string
	for _, m := range []string{t.Open, t.Close, t.Answer, t.AnswerEnd} {
		if m != "" {
			out = append(out, m)
		}
	}
	return out
}

// opening is how the model begins a thought.
func (t Tags) opening() string { return t.Open + t.after }

// closing is how the model ends a thought and begins its answer.
func (t Tags) closing(empty bool) string {
	if t.Harmony {
		return t.Close + "<|start|>assistant" + harmonyFinal
	}
	if empty {
		return t.Close + t.gap + t.Answer
	}
	return t.after + t.Close + t.gap + t.Answer
}
