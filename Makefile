# Loadstone: `make help` lists what there is.
.DEFAULT_GOAL := help
SHELL := /bin/bash
BENCH ?=
RUN := .venv/bin

.PHONY: help demo test lint bench clean setup setup-clusters setup-test generate docs

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: setup ## install what is needed, then run the first study and write its report (a few minutes)
	@$(RUN)/loadstone run studies/first-light.yaml

test: setup-test ## every check: lint, types, Go and Python tests, short fuzzing
	@scripts/test.sh

lint: .venv/.ready ## formatting and static checks of Python and Go (part of `make test`)
	@scripts/test.sh lint

bench: setup ## benchmarks, all or one: make bench BENCH=load
	@scripts/bench.sh $(BENCH)

setup: system-run .build/stone .venv/.ready ## install stores, the stone binary and the Python environment; nothing is done twice

setup-clusters: system-clusters .build/stone .venv/.ready ## what Swarm, Nomad and Kubernetes on emulated hosts need; builds the latter two, once
	@$(RUN)/python -m loadstone.infrastructure.builds

setup-test: system-test .build/stone .venv/.ready
	@$(RUN)/python -m loadstone.infrastructure.builds

system-%:
	@scripts/setup-system.sh $*

generate: .venv/.ready ## write generated code (protobuf; needs protoc) and the reference pages
	@stone/generate.sh
	@$(RUN)/python scripts/generate_docs.py

docs: .venv/.ready ## write docs/reference from the models
	@$(RUN)/python scripts/generate_docs.py

clean: ## remove .build, .venv and caches; results/ is never touched
	rm -rf .build .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find loadstone tests bench scripts -name __pycache__ -type d -prune -exec rm -rf {} +
	@if [ -d results ]; then echo "results/ is kept: it holds your measurements"; fi

.venv/.ready: requirements.lock pyproject.toml
	@scripts/setup-python.sh

.build/stone: $(shell find stone -name '*.html' -o -name '*.css' -o -name '*.svg' -o -name '*.go' -not -name '*_test.go') stone/go.mod stone/go.sum
	@scripts/setup-stone.sh
