# Every check that CI runs is a target here; CI calls nothing else.

GOFUMPT_VERSION     := v0.12.0
STATICCHECK_VERSION := v0.8.2

MODULE := github.com/jptools/jptools
BIN    := $(CURDIR)/bin
TOOLS  := $(CURDIR)/.tools
# A new version is another file, so that it is installed.
GOFUMPT     := $(TOOLS)/$(GOFUMPT_VERSION)/gofumpt
STATICCHECK := $(TOOLS)/$(STATICCHECK_VERSION)/staticcheck
PREFIX ?= /usr/local
# The one list of modules is go.work.
MODULES = $(shell go list -m -f '{{.Dir}}')

export CGO_ENABLED = 0

ifneq ($(filter-out help clean,$(or $(MAKECMDGOALS),build)),)
ifeq ($(shell sh -c 'command -v go'),)
$(error this needs Go 1.26, and there is no go on PATH; see https://go.dev/dl)
endif
endif

.PHONY: build
build: ## build every binary into bin/ (default)
	go build -trimpath -ldflags='-s -w' -o $(BIN)/ $(MODULE)/tools/...
	go build -trimpath -ldflags='-s -w' -o $(BIN)/jphost $(MODULE)/host

.PHONY: install
install: build ## install the binaries into $(PREFIX)/bin
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 0755 $(BIN)/jphost $(wildcard $(BIN)/fs_*) $(DESTDIR)$(PREFIX)/bin/

.PHONY: demo
demo: build ## show the tools on this repository and jphost on a scratch workspace
	@BIN=$(BIN) sh scripts/demo.sh

.PHONY: test
test: ## run all tests: packages, then scripts and attacks on the built binaries
	go test $(TESTFLAGS) $$(go list work | grep -v /e2e)
	go test $(TESTFLAGS) -count=1 -timeout=30m github.com/jptools/jptools/e2e/...

.PHONY: test-long
test-long: ## the same with 200000 races and many more random cases (about an hour)
	JPTOOLS_RACES=200000 JPTOOLS_LONG=1 go test -count=1 -timeout=2h work

.PHONY: test-race
test-race: ## the tests of packages (PACKAGES, default all) under the race detector, one at a time; needs a C compiler
	CGO_ENABLED=1 go test -race -p 1 -timeout=30m $(TESTFLAGS) $(or $(PACKAGES),$$(go list work | grep -v /e2e))

.PHONY: agreement
agreement: ## compare the check of the tools with the kernel on N random cases for each tier (default 100000)
	go test -count=1 -timeout=6h -v -run '^TestAgreement$$' $(MODULE)/sandbox/internal/agreement -agreement.n=$(or $(N),100000)

.PHONY: explain
explain: ## compare what explain says with what run does, on N random calls (default 2000; SEED repeats a run)
	go test -count=1 -timeout=2h -v -run '^TestExplainEqualsRun$$' $(MODULE)/host -explain.n=$(or $(N),2000) -explain.seed=$(or $(SEED),0)

.PHONY: kernels
kernels: ## run the tests of the sandbox on kernels of Debian, amd64 and arm64, in an emulator (an hour or more; KERNELS=bookworm/amd64 for one)
	@sh scripts/kernels.sh

.PHONY: bench
bench: build ## compare speed with the peers that are installed; prints ratios
	@BIN=$(BIN) sh scripts/bench.sh

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (default 20s)
	@sh scripts/fuzz.sh $(or $(FUZZTIME),20s)

.PHONY: lint
lint: verify-fmt verify-vet verify-staticcheck verify-modules ## all static checks

.PHONY: verify-fmt
verify-fmt: $(GOFUMPT)
	@out=$$($(GOFUMPT) -l $(MODULES)) || exit 1; if [ -n "$$out" ]; then echo "not formatted (make fix-fmt):"; echo "$$out"; exit 1; fi

.PHONY: fix-fmt
fix-fmt: $(GOFUMPT)
	$(GOFUMPT) -w $(MODULES)

.PHONY: verify-vet
verify-vet: ## vet for Linux, macOS and Windows
	go vet work
	GOOS=darwin go vet work
	GOOS=windows go vet work

.PHONY: verify-staticcheck
verify-staticcheck: $(STATICCHECK)
	$(STATICCHECK) $$(go list work)

.PHONY: verify-modules
verify-modules: ## every module builds by itself, with a tidy go.mod
	@for m in $(MODULES); do (cd $$m && GOWORK=off go vet ./... && GOWORK=off go mod tidy -diff) || { echo "$$m: make fix-modules"; exit 1; }; done

.PHONY: fix-modules
fix-modules:
	@for m in $(MODULES); do (cd $$m && GOWORK=off go mod tidy) || exit 1; done

$(GOFUMPT):
	GOBIN=$(@D) go install mvdan.cc/gofumpt@$(GOFUMPT_VERSION)

$(STATICCHECK):
	GOBIN=$(@D) go install honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK_VERSION)

.PHONY: clean
clean:
	rm -rf $(BIN) $(TOOLS)

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 20
