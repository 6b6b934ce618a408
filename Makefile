# make run and make test set this machine up themselves: git, make and Go are all that must be there.

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: run build headless test check bench gpu-check clean

run: ## build, then open the window; without a display the same conversation in the terminal
	@scripts/build.sh auto
	@bin/ingot $(ARGS)

build: ## bin/ingot
	@scripts/build.sh window

headless: ## bin/ingot without the window: links neither X nor GL
	@scripts/build.sh headless

test:
	@scripts/test.sh

check: ## what a change must pass beside the tests
	@scripts/check.sh $(STATICCHECK)

bench: ## every kernel and level, then a model (MODEL=path; the sample), with shares of what this machine can do
	@scripts/bench.sh $(or $(MODEL),sample)

gpu-check: ## every kernel and model on a graphics card, and their speed: CARD=cuda:0, CARD=hip:0, CARD=emulated
	@scripts/gpu-check.sh

clean:
	rm -rf bin build
