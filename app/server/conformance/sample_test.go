package conformance

import (
	"errors"
	"strings"
	"testing"

	official "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"

	"ingot/app/openai"
	"ingot/app/server"
	"ingot/engine"
)

// OpenAI's client talks to the sample model: what it streams is what it answers whole, its log probabilities are
// those of a distribution, and a prompt that does not fit is refused with both counts.
func TestOfficialClientWithTheSampleModel(t *testing.T) {
	e, err := engine.Open("../../../assets/sample/sample-Q8_0.gguf", engine.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s := server.New(server.Options{Names: []string{"sample"}})
	s.SetEngine(e)
	where, err := s.ListenPublic(openai.ListenRequest{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	client := official.NewClient(option.WithBaseURL(where.URL), option.WithAPIKey("none"), option.WithMaxRetries(0))
	ask := official.ChatCompletionNewParams{
		Model: "sample", Temperature: param.NewOpt(0.0), MaxCompletionTokens: param.NewOpt(int64(60)),
		Logprobs: param.NewOpt(true), TopLogprobs: param.NewOpt(int64(3)),
		Messages: []official.ChatCompletionMessageParamUnion{official.UserMessage("Hello, who are you?")},
	}
	whole, err := client.Chat.Completions.New(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	answer := whole.Choices[0]
	if answer.Message.Content == "" || answer.FinishReason != "stop" || whole.Usage.PromptTokens == 0 {
		t.Errorf("got %s", whole.RawJSON())
	}
	for i, token := range answer.Logprobs.Content {
		if token.Logprob > 0 || len(token.TopLogprobs) != 3 || token.TopLogprobs[0].Logprob != token.Logprob ||
			token.TopLogprobs[1].Logprob > token.TopLogprobs[0].Logprob || token.JSON.ExtraFields["id"].Raw() == "" {
			t.Errorf("token %d: %s", i, token.RawJSON())
		}
	}

	stream := client.Chat.Completions.NewStreaming(t.Context(), ask)
	var all official.ChatCompletionAccumulator
	pieces := 0
	for stream.Next() {
		all.AddChunk(stream.Current())
		pieces++
	}
	if stream.Err() != nil || all.Choices[0].Message.Content != answer.Message.Content || pieces < 5 {
		t.Errorf("streamed %q in %d pieces, whole %q, %v", all.Choices[0].Message.Content, pieces, answer.Message.Content, stream.Err())
	}

	words := strings.Fields(answer.Message.Content)
	stop := words[len(words)-1]
	ask.Stop = official.ChatCompletionNewParamsStopUnion{OfString: param.NewOpt(stop)}
	cut, err := client.Chat.Completions.New(t.Context(), ask)
	if err != nil || cut.Choices[0].FinishReason != "stop" {
		t.Fatalf("got %v", err)
	}
	before, _, _ := strings.Cut(answer.Message.Content, stop)
	if got := cut.Choices[0].Message.Content; got != before {
		t.Errorf("stopped at %q: got %q, want %q", stop, got, before)
	}

	ask.Messages = append(ask.Messages, official.UserMessage(strings.Repeat("word ", 3000)))
	_, err = client.Chat.Completions.New(t.Context(), ask)
	var refused *official.Error
	if !errors.As(err, &refused) || refused.StatusCode != 400 || refused.Code != "context_length_exceeded" || !strings.Contains(refused.Message, "2048") {
		t.Errorf("a prompt that does not fit: %v", err)
	}
}
