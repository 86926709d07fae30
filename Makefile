# Loadstone: `make help` lists what there is.
.DEFAULT_GOAL := help
SHELL := /bin/bash
BENCH ?=
RUN := .venv/bin
# Images of containers often set it, and then every command compiles all that it imports: half of a short one's time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo check test test-long lint vulnerabilities lock bench clean setup setup-clusters setup-test generate docs site wheels

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: setup ## install what is needed, then run the first study and write its report (a few minutes)
	@$(RUN)/loadstone run studies/first-light.yaml

check: .build/stone .venv/.ready ## lint, types and the tests that need nothing but a processor (minutes)
	@scripts/test.sh check

test: setup-test ## every check: lint, types, Go and Python tests, clusters, short fuzzing; gets Nomad and Kubernetes beside, once
	@scripts/test.sh all

test-long: setup-test system-guests ## what is slow or random: kills and losses on clusters, all of Go with the race detector, long fuzzing
	@$(RUN)/python -m loadstone.infrastructure.builds
	@scripts/test.sh long

lint: .venv/.ready ## formatting, types and static checks of Python and Go (part of `make check`)
	@scripts/test.sh lint

vulnerabilities: .venv/.ready ## known vulnerabilities of all that is pinned, in Go and Python; needs their databases on the network
	@scripts/vulnerabilities.sh

lock: .venv/.ready ## write the hashes of all files of each release in requirements.lock anew, after a version in it changed
	@scripts/lock.sh

bench: setup ## benchmarks, all or one: make bench BENCH=load
	@scripts/bench.sh $(BENCH)

setup: system-run .build/stone .venv/.ready ## install stores, the stone binary and the Python environment; nothing is done twice

setup-clusters: system-clusters .build/stone .venv/.ready ## what Swarm, Nomad and Kubernetes on emulated hosts need; fetches or builds Nomad, builds Kubernetes, once
	@$(RUN)/python -m loadstone.infrastructure.builds

setup-test: system-test .build/stone .venv/.ready .build/axe/.ready

system-%:
	@scripts/setup-system.sh $*

generate: .venv/.ready ## write generated code (protobuf; needs protoc) and the reference pages
	@stone/generate.sh
	@$(RUN)/python scripts/generate_docs.py

wheels: .venv/.ready ## dist/*.whl for Linux on x86-64 and arm64, with the stone binary inside
	@scripts/wheels.sh

site: .venv/.ready ## the documentation as a site that needs no network: .build/site/index.html
	@NO_MKDOCS_2_WARNING=1 $(RUN)/mkdocs build --strict --quiet
	@echo .build/site/index.html

docs: .venv/.ready ## write docs/reference from the models
	@$(RUN)/python scripts/generate_docs.py

clean: ## remove .build, .venv and caches; results/ is never touched
	rm -rf .build .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find loadstone tests bench scripts -name __pycache__ -type d -prune -exec rm -rf {} +
	@if [ -d results ]; then echo "results/ is kept: it holds your measurements"; fi

.build/axe/.ready: tests/report/axe/package-lock.json
	@scripts/setup-axe.sh

.venv/.ready: requirements.lock pyproject.toml
	@scripts/setup-python.sh

.build/stone: $(shell find stone -name '*.html' -o -name '*.css' -o -name '*.svg' -o -name '*.go' -not -name '*_test.go') stone/go.mod stone/go.sum
	@scripts/setup-stone.sh
