// Package conformance asks what other people's clients make of this server. It is apart because they are large.
package conformance

import (
	"context"
	"errors"
	"strings"
	"testing"

	official "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"

	"ingot/app/openai"
	"ingot/app/server"
	"ingot/app/server/enginetest"
	"ingot/engine"
)

func script() *enginetest.Script {
	return &enginetest.Script{Words: []string{"one", " two", " three"},
		About: engine.Info{Path: "/models/Tiny-Q8_0.gguf", Name: "Tiny", Context: 100, Vocab: 300, Slots: 1}}
}

// What OpenAI's own Go client makes of this server.
func TestOfficialClient(t *testing.T) {
	e := script()
	e.Thoughts = []string{"hm", " hm"}
	s := server.New(server.Options{Names: []string{"user/repo:Q8_0"}})
	s.SetEngine(e)
	where, err := s.ListenPublic(openai.ListenRequest{Key: "sk-test"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	client := official.NewClient(option.WithBaseURL(where.URL), option.WithAPIKey("sk-test"), option.WithMaxRetries(0))
	ctx := t.Context()
	ask := official.ChatCompletionNewParams{
		Model:    "user/repo:Q8_0",
		Messages: []official.ChatCompletionMessageParamUnion{official.SystemMessage("be brief"), official.UserMessage("how are you")},
	}

	t.Run("models", func(t *testing.T) {
		page, err := client.Models.List(ctx)
		if err != nil || len(page.Data) != 1 || page.Data[0].ID != "user/repo:Q8_0" || page.Data[0].OwnedBy != "ingot" {
			t.Fatalf("got %+v %v", page, err)
		}
		model, err := client.Models.Get(ctx, "user/repo:Q8_0")
		if err != nil || model.ID != "user/repo:Q8_0" {
			t.Errorf("got %+v %v", model, err)
		}
	})
	t.Run("chat", func(t *testing.T) {
		ask := ask
		ask.Temperature, ask.Seed = param.NewOpt(0.0), param.NewOpt(int64(3))
		got, err := client.Chat.Completions.New(ctx, ask)
		if err != nil {
			t.Fatal(err)
		}
		choice := got.Choices[0]
		if choice.Message.Content != "one two three" || choice.FinishReason != "stop" || got.Usage.PromptTokens != 5 ||
			got.Usage.CompletionTokens != 5 || got.Usage.CompletionTokensDetails.ReasoningTokens != 2 {
			t.Errorf("got %s", got.RawJSON())
		}
		if !strings.Contains(choice.Message.RawJSON(), `"reasoning_content":"hm hm"`) {
			t.Errorf("no thoughts in %s", choice.Message.RawJSON())
		}
		asked := e.Requests()[len(e.Requests())-1]
		if asked.Sampling.Temperature != 0 || asked.Sampling.Seed != 3 || asked.Messages[0].Role != "system" {
			t.Errorf("the engine was asked %+v", asked)
		}
	})
	t.Run("stream", func(t *testing.T) {
		ask := ask
		ask.StreamOptions = official.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)}
		stream := client.Chat.Completions.NewStreaming(ctx, ask)
		var all official.ChatCompletionAccumulator
		pieces := 0
		for stream.Next() {
			chunk := stream.Current()
			if !all.AddChunk(chunk) {
				t.Fatalf("a chunk does not fit: %s", chunk.RawJSON())
			}
			if len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
				pieces++
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		if all.Choices[0].Message.Content != "one two three" || all.Choices[0].FinishReason != "stop" || pieces != 3 || all.Usage.TotalTokens != 10 {
			t.Errorf("got %+v in %d pieces", all.ChatCompletion, pieces)
		}
	})
	t.Run("stop", func(t *testing.T) {
		ask := ask
		ask.Stop = official.ChatCompletionNewParamsStopUnion{OfStringArray: []string{"three", "four"}}
		got, err := client.Chat.Completions.New(ctx, ask)
		if err != nil || got.Choices[0].Message.Content != "one two" || got.Choices[0].FinishReason != "stop" {
			t.Errorf("got %+v %v", got, err)
		}
		ask.Stop, ask.MaxCompletionTokens = official.ChatCompletionNewParamsStopUnion{}, param.NewOpt(int64(3))
		got, err = client.Chat.Completions.New(ctx, ask)
		if err != nil || got.Choices[0].Message.Content != "one" || got.Choices[0].FinishReason != "length" {
			t.Errorf("got %+v %v", got, err)
		}
	})
	t.Run("logprobs", func(t *testing.T) {
		ask := ask
		ask.Logprobs, ask.TopLogprobs = param.NewOpt(true), param.NewOpt(int64(2))
		got, err := client.Chat.Completions.New(ctx, ask)
		if err != nil {
			t.Fatal(err)
		}
		content := got.Choices[0].Logprobs.Content
		if len(content) != 5 || content[2].Token != "one" || content[2].Logprob != -0.25 || len(content[2].TopLogprobs) != 2 ||
			content[2].TopLogprobs[1].Logprob != -1.25 || content[2].Bytes[0] != 'o' {
			t.Errorf("got %+v", content)
		}
		if id := content[2].JSON.ExtraFields["id"]; id.Raw() != "2" {
			t.Errorf("token id is %q", id.Raw())
		}
	})
	t.Run("completion", func(t *testing.T) {
		got, err := client.Completions.New(ctx, official.CompletionNewParams{
			Model: "user/repo:Q8_0", Prompt: official.CompletionNewParamsPromptUnion{OfString: param.NewOpt("say it")},
			Logprobs: param.NewOpt(int64(1)), Echo: param.NewOpt(true)})
		if err != nil {
			t.Fatal(err)
		}
		if c := got.Choices[0]; c.Text != "say ithm hmone two three" || c.Logprobs.Tokens[2] != "one" || c.Logprobs.TextOffset[1] != 8 {
			t.Errorf("got %s", got.RawJSON())
		}
		stream := client.Completions.NewStreaming(ctx, official.CompletionNewParams{
			Model: "user/repo:Q8_0", Prompt: official.CompletionNewParamsPromptUnion{OfArrayOfTokens: []int64{1, 2, 3}}})
		text := ""
		for stream.Next() {
			for _, c := range stream.Current().Choices {
				text += c.Text
			}
		}
		if stream.Err() != nil || text != "hm hmone two three" {
			t.Errorf("got %q %v", text, stream.Err())
		}
	})
	t.Run("errors", func(t *testing.T) {
		ask := ask
		ask.Model = "gpt-4"
		_, err := client.Chat.Completions.New(ctx, ask)
		var e *official.Error
		if !errors.As(err, &e) || e.StatusCode != 404 || e.Code != "model_not_found" || e.Param != "model" {
			t.Errorf("a foreign model: %v", err)
		}
		wrong := official.NewClient(option.WithBaseURL(where.URL), option.WithAPIKey("sk-tesu"), option.WithMaxRetries(0))
		if _, err := wrong.Models.List(ctx); !errors.As(err, &e) || e.StatusCode != 401 || e.Code != "invalid_api_key" {
			t.Errorf("a wrong key: %v", err)
		}
		ask.Model, ask.Temperature = "sample", param.NewOpt(-1.0)
		ask.Model = "Tiny"
		if _, err := client.Chat.Completions.New(ctx, ask); !errors.As(err, &e) || e.StatusCode != 400 || e.Param != "temperature" {
			t.Errorf("a wrong temperature: %v", err)
		}
	})
	t.Run("error within a stream", func(t *testing.T) {
		broken := script()
		broken.Fail, broken.FailAt = errors.New("card 3 fell off"), 1
		s.SetEngine(broken)
		defer s.SetEngine(e)
		ask := ask
		ask.Model = "user/repo:Q8_0"
		stream := client.Chat.Completions.NewStreaming(ctx, ask)
		for stream.Next() {
		}
		if err := stream.Err(); err == nil || !strings.Contains(err.Error(), "card 3 fell off") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("too long", func(t *testing.T) {
		long := script()
		long.Fail = engine.ErrPromptTooLong
		s.SetEngine(long)
		defer s.SetEngine(e)
		_, err := client.Chat.Completions.New(context.Background(), ask)
		var e *official.Error
		if !errors.As(err, &e) || e.StatusCode != 400 || e.Code != "context_length_exceeded" {
			t.Errorf("got %v", err)
		}
	})
}
