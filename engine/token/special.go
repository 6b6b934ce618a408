package token

import "slices"

// Files name BOS and EOS and often nothing else, so the tokens that end a turn are known by their texts, as
// llama.cpp collects them. All of these become control tokens.
var (
	// The first that a vocabulary has is its EOT, unless the file names one.
	eotTexts = []string{
		"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<EOT>", "_<EOT>", "[EOT]", "<end_of_utterance>",
		"<｜end▁of▁sentence｜>", "<|end_of_text|>", "<|endoftext|>",
	}
	eogTexts = []string{
		"<|return|>", "<|call|>", "<|flush|>", "<|calls|>", "</s>", "<|eom_id|>", "[EOS]", "<eos>", "<turn|>",
		"<|tool_response>", "[e~[",
	}
	// Fill-in-the-middle: padding and the borders of files and repositories end an answer, the others do not.
	fimEndTexts = [][]string{
		{"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"},
		{"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"},
		{"<|file_sep|>"},
	}
	fimTexts = [][]string{
		{"<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>", "<|code_prefix|>", "<|prefix|>"},
		{"<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>", "<|code_suffix|>", "<|suffix|>"},
		{"<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>", "<|code_middle|>", "<|middle|>"},
	}
	fimEndKeys = []string{"fim_pad", "fim_rep", "fim_sep"}
	fimKeys    = []string{"fim_pre", "fim_suf", "fim_mid"}
	// gpt-oss separates the parts of an answer with these: they are control tokens in the file and must be seen.
	shownTexts = []string{"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"}
)

// loadSpecial reads the ids of special tokens and finds those that the file does not name.
func loadSpecial(v *Vocab, r *reader) {
	n := len(v.texts)
	if v.model == "bert" {
		v.bos = r.id("cls", v.bos, n)
	}
	v.bos = r.id("bos", v.bos, n)
	v.eos = r.id("eos", v.eos, n)
	v.unk = r.id("unknown", v.unk, n)
	v.eot = r.id("eot", none, n)
	eom := r.id("eom", none, n)

	known := v.known()
	control := func(id int32) int32 {
		if id != none {
			v.types[id] = Control
		}
		return id
	}
	ends := map[int32]bool{}
	end := func(id int32) {
		if id != none {
			ends[id] = true
		}
	}
	if v.eot == none {
		v.eot = control(known.first(eotTexts))
	}
	for i, texts := range fimTexts {
		if r.id(fimKeys[i], none, n) == none {
			control(known.first(texts))
		}
	}
	for i, texts := range fimEndTexts {
		id := r.id(fimEndKeys[i], none, n)
		if id == none {
			id = control(known.first(texts))
		}
		end(id)
	}
	for _, t := range slices.Concat(eotTexts, eogTexts) {
		end(control(known.get(t)))
	}
	for _, t := range shownTexts {
		if id := known.get(t); id != none {
			v.types[id] = UserDefined
		}
	}
	end(v.eos)
	end(v.eot)
	end(eom)

	// In these formats a part of an answer, not the answer, ends with <|end|>.
	has := func(t string) bool { return ends[known.get(t)] }
	calls := has("<|call|>") || has("<|calls|>")
	if id := known.get("<|end|>"); ends[id] && calls && (has("<|return|>") || has("<|flush|>")) {
		delete(ends, id)
		v.types[id] = UserDefined
	}
	// Where <|tool_response> ends a turn, </s> is a mark-up token like others.
	if id := known.get("</s>"); ends[id] && has("<|tool_response>") {
		delete(ends, id)
		v.types[id] = Normal
	}
	for id := range ends {
		v.eog = append(v.eog, id)
	}
	slices.Sort(v.eog)

	if isPhi3(r.string("general.name", "")) {
		for id, t := range v.types {
			switch v.texts[id] {
			case "<unk>", "<s>", "<|endoftext|>":
				continue
			}
			if t == Control || t == Unknown || t == UserDefined {
				v.stripAfter = append(v.stripAfter, int32(id))
			}
		}
	}
}

// found holds the ids of texts that mean something by themselves.
type found map[string]int32

// known looks for all of them in one pass, so that the whole index need not be built.
func (v *Vocab) known() found {
	f := found{}
	for _, t := range slices.Concat(slices.Concat(fimTexts...), slices.Concat(fimEndTexts...), eotTexts, eogTexts, shownTexts) {
		f[t] = none
	}
	for id, t := range v.texts {
		if t == "" {
			continue
		}
		switch t[0] {
		case '<', '[', '_', "▁"[0]:
			if _, ok := f[t]; ok {
				f[t] = int32(id)
			}
		}
	}
	return f
}

func (f found) get(text string) int32 {
	if id, ok := f[text]; ok {
		return id
	}
	return none
}

func (f found) first(texts []string) int32 {
	for _, t := range texts {
		if f[t] != none {
			return f[t]
		}
	}
	return none
}
