package token

import (
	"fmt"
	"strings"
)

// preTokenizer splits text into the words that byte-level BPE merges within. Patterns apply one after the other,
// each to the pieces that the one before left: a piece is cut into the matches and what lies between them. Where
// llama.cpp approximates a pattern, the published one counts: tekken and gpt-4o tell the case of letters beyond
// ASCII and keep combining marks in words, "~" is a symbol in deepseek-v3, wide spaces are among deepseek's CJK.
type preTokenizer struct {
	names    string   // values of tokenizer.ggml.pre
	patterns []string // as the models' tokenizer.json publish them
	// scans are the patterns by hand, some fifty times as fast; without them regexp2 runs the patterns.
	scans        []scan
	ignoreMerges bool // a word that is a token is not merged
	addBOS       bool // unless the file says otherwise
	// plain: texts are written as they are but for spaces, which are U+2581, and bytes that no text covers are tokens <0xAB>:
	// SentencePiece's alphabet, merged in the order of a list.
	plain bool
}

// The parts that published patterns are made of.
const (
	reContract     = `'s|'t|'re|'ve|'m|'ll|'d`
	reContractFold = `(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])`
	reWord         = `[^\r\n\p{L}\p{N}]?\p{L}+`
	reOther        = ` ?[^\s\p{L}\p{N}]+[\r\n]*`
	reOtherSlash   = ` ?[^\s\p{L}\p{N}]+[\r\n/]*`
	reSpace        = `\s*[\r\n]+|\s+(?!\S)|\s+`

	reGPT2   = reContract + `| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	reQwen2  = reContractFold + `|` + reWord + `|\p{N}|` + reOther + `|` + reSpace
	reLlama3 = reContractFold + `|` + reWord + `|\p{N}{1,3}|` + reOther + `|` + reSpace
	reQwen35 = reContractFold + `|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|` + reSpace

	// Words that end where the case changes: aBc is a, Bc.
	reCased1      = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+`
	reCased2      = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*`
	reCasedSuffix = reCased1 + reContractFold + `?|` + reCased2 + reContractFold + `?`

	reDeepSeek3 = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+" +
		`|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|` + reSpace
	reCJK = `[一-龥ࠀ-一가-퟿]+`

	// Cased letters of the alphabets that DeepSeek's tokenizer lists, and its punctuation.
	setDeepSeekLetters = "A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af" +
		"\u0370-\u0373\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5" +
		"\u03f7-\u0481\u048a-\u052f\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba" +
		"\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45" +
		"\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe" +
		"\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102" +
		"\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139" +
		"\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3" +
		"\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06" +
		"\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a\U00010400-\U0001044f\U000104b0-\U000104d3" +
		"\U000104d8-\U000104fb\U00010c80-\U00010cb2\U00010cc0-\U00010cf2\U000118a0-\U000118df" +
		"\U0001e900-\U0001e943"
	setDeepSeekPunct = "!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002"
)

// preTokenizers lists what is known, with the names that llama.cpp accepts. The first one also stands for files
// that name none.
var preTokenizers = []preTokenizer{
	{
		names:    "default",
		patterns: []string{`[\p{P}\$\+<=>\^~\|]+`, reGPT2, `\p{N}+`, `[0-9][0-9][0-9]`},
		scans:    []scan{scanPunctRuns("$+<=>^~|"), scanGPT2, scanRuns(number), scanThreeDigits},
	},
	{
		names: "gpt-2 phi-2 jina-es jina-de jina-v1-en jina-v2-es jina-v2-de jina-v2-code roberta-bpe gigachat a.x-4.0 " +
			"mellum modern-bert exaone4 mpt olmo gpt-neox jais trillion granite-docling",
		patterns: []string{reGPT2},
		scans:    []scan{scanGPT2},
	},
	{
		names:    "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2",
		patterns: []string{`\p{N}`, reGPT2},
		scans:    []scan{scanDigit, scanGPT2},
	},
	{
		names:    "falcon",
		patterns: []string{"[\\p{P}\\$\\+<=>\\^~\\|`]+", reGPT2, `[0-9][0-9][0-9]`},
		scans:    []scan{scanPunctRuns("$+<=>^~|`"), scanGPT2, scanThreeDigits},
	},
	{
		names:        "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
		patterns:     []string{reLlama3},
		scans:        []scan{words{digits: 3}.next},
		ignoreMerges: true,
		addBOS:       true,
	},
	{
		names:    "dbrx smaug-bpe glm4 chatglm-bpe",
		patterns: []string{reLlama3},
		scans:    []scan{words{digits: 3}.next},
	},
	{
		names:    "qwen2 deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan solar-open grok-2",
		patterns: []string{reQwen2},
		scans:    []scan{words{digits: 1}.next},
	},
	{
		names:    "qwen35",
		patterns: []string{reQwen35},
		scans:    []scan{words{digits: 1, marks: true}.next},
	},
	{
		names:    "deepseek-llm",
		patterns: []string{`[\r\n]`, `\s?[` + setDeepSeekLetters + `]+`, `\s?[` + setDeepSeekPunct + `]+`, `\s+\z`, reCJK, `\p{N}+`},
		scans: []scan{scanNewline, scanSpaced(inSet(setDeepSeekLetters)), scanSpaced(inSet(setDeepSeekPunct)),
			scanLastSpace, scanSet(isCJK), scanRuns(number)},
	},
	{
		names:    "deepseek-coder",
		patterns: []string{`[\r\n]`, `\s?\p{L}+`, `\s?\p{P}+`, reCJK, `\p{N}`},
		scans:    []scan{scanNewline, scanSpaced(inClass(letter)), scanSpaced(inClass(punct)), scanSet(isCJK), scanDigit},
	},
	{
		names:    "deepseek-v3 hunyuan-dense joyai-llm",
		patterns: []string{`\p{N}{1,3}`, `[一-龥぀-ゟ゠-ヿ]+`, reDeepSeek3},
		scans:    []scan{scanDigits3, scanSet(isHanKana), scanDeepSeek3},
	},
	{
		names:        "tekken",
		patterns:     []string{reCased1 + `|` + reCased2 + `|\p{N}|` + reOtherSlash + `|` + reSpace},
		scans:        []scan{cased{digits: 1}.next},
		ignoreMerges: true,
		addBOS:       true,
	},
	{
		names:    "gpt-4o llama4 kanana2 talkie minimax-m2",
		patterns: []string{reCasedSuffix + `|\p{N}{1,3}|` + reOtherSlash + `|` + reSpace},
		scans:    []scan{cased{digits: 3, suffix: true}.next},
	},
	{
		names:        "granite-embed-multi-97m",
		patterns:     []string{reCasedSuffix + `|\p{N}{1,3}|` + reOtherSlash + `|` + reSpace},
		scans:        []scan{cased{digits: 3, suffix: true}.next},
		ignoreMerges: true,
	},
	{
		names:        "minicpm5",
		patterns:     []string{`\p{N}{1,3}`, reContractFold + `|` + reWord + `|\p{N}+|` + reOther + `|` + reSpace},
		scans:        []scan{scanDigits3, words{digits: 3}.next}, // no longer run of digits reaches it
		ignoreMerges: true,
	},
	{ // a run of line breaks that is a token is not merged; files say that they add no BOS, and the models need one
		names:    "gemma4 granite-embed-multi-311m",
		patterns: []string{`[^\n]+|[\n]+`},
		scans:    []scan{scanLines},
		plain:    true,
		addBOS:   true,
	},
	{
		names:    "laguna",
		patterns: []string{`[^\n]+|[\n]+`, reQwen2},
		scans:    []scan{scanLines, words{digits: 1}.next},
	},

	// Rarely met: as fast as regexp2 is.
	{names: "poro-chat bloom gpt3-finnish", patterns: []string{` ?[^(\s|.,!?…。，、।۔،)]+`}},
	{names: "viking", patterns: []string{` ?[^(\s|.,!?…。，、।۔،)]+`, `\p{N}`}},
	{
		names: "chameleon",
		patterns: []string{`<sentinel:[0-9]+>`, `(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z`, "([\\t\\n]|    |  )", `\p{N}`,
			"[\\p{P}!-/:-@\\[-`{-~]", reGPT2},
		addBOS: true,
	},
	{
		names:    "bailingmoe bailingmoe2 llada-moe",
		patterns: []string{`'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|` + reWord + `|\p{N}|` + reOther + `|\s*[\r\n]|\s+(?!\S)|\s+`},
	},
	{
		names:    "seed-coder",
		patterns: []string{reContractFold + `|` + reWord + `|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|` + reSpace},
	},
	{
		names: "jais-2",
		patterns: []string{reContractFold + `|` + reWord + `|\p{N}{1,3}|` + reOther + `|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)` +
			`|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1}`},
	},
	{
		names: "youtu",
		patterns: []string{`[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+`,
			reCasedSuffix + `|\p{N}|` + reOtherSlash + `|` + reSpace},
		ignoreMerges: true,
	},
	{
		names: "exaone-moe",
		patterns: []string{reContractFold + `|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}` +
			`| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+`},
	},
}

// preFor returns the pre-tokenizer of a name; of none, the one for files without.
func preFor(name string) (*preTokenizer, error) {
	if name == "" {
		return &preTokenizers[0], nil
	}
	var all []string
	for i := range preTokenizers {
		for _, n := range strings.Fields(preTokenizers[i].names) {
			if n == name {
				return &preTokenizers[i], nil
			}
			all = append(all, n)
		}
	}
	return nil, fmt.Errorf("%s %q is %w (known: %s)", keyPre, name, ErrUnsupported, strings.Join(all, " "))
}
