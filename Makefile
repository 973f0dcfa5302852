# Every target is one line of Go tooling; .ci/run does all of it.

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: test
test: ## run all tests
	go test ./...

.PHONY: race
race: ## run all tests with the race detector
	go test -race ./...

.PHONY: lint
lint: ## check format, vet, and what .golangci.yml lists
	test -z "$$(gofmt -l .)"
	go vet ./...
	golangci-lint run ./...

.PHONY: fuzz
fuzz: ## fuzz every target for FUZZTIME (10s)
	.ci/fuzz $(or $(FUZZTIME),10s)

.PHONY: stress
stress: ## kill and stop processes at one database for DURATION (1m)
	go run ./sqlitestore/stresstest -duration $(or $(DURATION),1m) -procs 8

.PHONY: bench
bench: ## measure all stores with N (10000) entries, into bench-report
	go run ./bench -n $(or $(N),10000)

.PHONY: demo
demo: ## see it work
	go run ./cmd/loopmem demo
