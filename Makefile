# Two commands: `make run` and `make test` do all set-up on a fresh machine.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PROJECT ?= config/auctions
SWIFT_BUILD_FLAGS ?=
MINUTES ?= 5
PREFIX ?= /usr/local

.PHONY: help setup install build run cluster test fuzz fuzz-parsers fuzz-machines fuzz-sessions simulate chaos deploy-check lint format bench bench-report load hostile clean release

help: ## This list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

setup: ## Install what is missing (Debian packages)
	@deploy/setup.sh

build: setup ## Debug build
	swift build $(SWIFT_BUILD_FLAGS)

release: setup ## Release build of the freshet program
	swift build -c release --product freshet $(SWIFT_BUILD_FLAGS)

install: ## Install what `make release` built, with completion for shells; PREFIX=/usr/local DESTDIR=
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" deploy/install.sh \
		"$$(swift build -c release --show-bin-path $(SWIFT_BUILD_FLAGS))/freshet"

run: setup ## Build and start `freshet dev $(PROJECT)`
	@swift build $(SWIFT_BUILD_FLAGS) --product freshet
	@exec "$$(swift build --show-bin-path)/freshet" dev $(PROJECT)

cluster: ## Build and start `freshet cluster $(PROJECT)`: 2 api, 3 workers, 2 gateways, HAProxy; CLUSTER_FLAGS
	@deploy/setup.sh cluster
	@swift build $(SWIFT_BUILD_FLAGS) --product freshet
	@exec "$$(swift build --show-bin-path)/freshet" cluster $(PROJECT) $(CLUSTER_FLAGS)

test: ## All tests, with a private Postgres and a private Redis
	@deploy/setup.sh cluster nginx generate page clients prometheus
	@Tests/Integration/Python/setup.sh
	@deploy/test.sh $(SWIFT_BUILD_FLAGS)

chaos: ## Faults of real processes under load, each verified; MINUTES=5 SEED=… CHAOS_FLAGS="--json"
	@deploy/setup.sh cluster
	swift build --product freshet-chaos $(SWIFT_BUILD_FLAGS)
	swift build --product WrongClock $(SWIFT_BUILD_FLAGS)
	@exec "$$(swift build --show-bin-path $(SWIFT_BUILD_FLAGS))/freshet-chaos" --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(CHAOS_FLAGS)

bench: ## Benchmarks beside bare equivalents and peers; BENCH_FLAGS="--quick --only rules,fanout,peers"
	@deploy/setup.sh $(if $(findstring peers,$(BENCH_FLAGS)),peers)
	swift build -c release --product freshet-bench $(SWIFT_BUILD_FLAGS)
	@"$$(swift build -c release --show-bin-path $(SWIFT_BUILD_FLAGS))/freshet-bench" $(BENCH_FLAGS)

bench-report: ## Every benchmark, peers included, into docs/benchmark-run.md; BENCH_FLAGS=--quick
	@deploy/setup.sh peers
	swift build -c release --product freshet-bench $(SWIFT_BUILD_FLAGS)
	@set -o pipefail; report=$$(mktemp); trap 'rm -f "$$report"' EXIT; \
		"$$(swift build -c release --show-bin-path $(SWIFT_BUILD_FLAGS))/freshet-bench" --all $(BENCH_FLAGS) | tee "$$report" \
		&& cp "$$report" docs/benchmark-run.md

load: setup ## Load on a running node, and whether every subscriber converged; SCENARIO=FILE LOAD_FLAGS=…
	swift build -c $(or $(CONFIGURATION),release) --product freshet $(SWIFT_BUILD_FLAGS)
	@"$$(swift build -c $(or $(CONFIGURATION),release) --show-bin-path $(SWIFT_BUILD_FLAGS))/freshet" load \
		$(or $(SCENARIO),config/load/many-keys.yaml) $(LOAD_FLAGS)

hostile: ## Attacks on a node beside a subscriber that is measured; CONFIGURATION=release HOSTILE="10 churn,junk"
	@Tests/Integration/Python/setup.sh
	swift build -c $(or $(CONFIGURATION),release) --product freshet $(SWIFT_BUILD_FLAGS)
	@.venv-clients/bin/python -I Tests/Integration/Python/hostile/run.py \
		"$$(swift build -c $(or $(CONFIGURATION),release) --show-bin-path $(SWIFT_BUILD_FLAGS))/freshet" $(HOSTILE)

deploy-check: ## Everything in deploy/ against its schemas and programs, and against settings and metrics
	@deploy/setup.sh check
	@deploy/check/run.sh

simulate: setup ## The whole system in one process, many seeds; SEEDS=n FIRST=k SEED=k TRACE=1 SABOTAGE=name|all
	swift build -c release --product freshet-simulate $(SWIFT_BUILD_FLAGS)
	@"$$(swift build -c release --show-bin-path $(SWIFT_BUILD_FLAGS))/freshet-simulate" --seeds $(or $(SEEDS),1000) \
		$(if $(FIRST),--first $(FIRST)) $(if $(SEED),--seed $(SEED)) $(if $(TRACE),--trace) \
		$(if $(SABOTAGE),--sabotage $(SABOTAGE))

fuzz: fuzz-parsers fuzz-machines fuzz-sessions ## Parsers, machines and sessions

fuzz-parsers: ## libFuzzer on the GraphQL, CEL and JSON parsers; SECONDS_EACH=60 PARSERS="graphql cel json"
	@Tests/Fuzz/run.sh $(or $(SECONDS_EACH),60) $(PARSERS)

fuzz-machines: ## Protocol machines, encodings, gRPC and JSON Patch on random input; FACTOR=50 times the seeds of the tests
	FRESHET_FUZZ_FACTOR=$(or $(FACTOR),50) swift test $(SWIFT_BUILD_FLAGS) --filter \
		'everyWaiterIsAnsweredOnce|randomSequencesKeepTheRules|damagedMessagesDoNoHarm|everyPatchAppliedIsTheFullResult|RandomStreamTests|GRPCRandomTests|damagedFramesNeverTrap|anyCutGivesTheSame'

fuzz-sessions: build ## libFuzzer on the protocol machines and header parsers; SECONDS_EACH=60
	@Tests/Fuzz/machines.sh $(or $(SECONDS_EACH),60)

lint: ## swift format lint --strict
	swift format lint --strict --configuration .swift-format -r Sources Tests Package.swift

format: ## Format in place
	swift format -i --configuration .swift-format -r Sources Tests Package.swift

clean: ## Remove build products; data in .freshet stay
	rm -rf .build
