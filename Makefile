# Everything that is done to this repository, by name. `make help` lists it.
# Needs only Python (3.11 or newer), make and a shell: the rest is installed into .venv from requirements.lock.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
#: How long `make fuzz` runs.
SECONDS ?= 600
#: Passed to pytest, as in `make test ARGS="-k tokens -x"`.
ARGS ?=
SCRIPTS = .ci/run $(shell find controller simulator deploy terraform tests -name '*.sh' -not -path '*/.terraform/*')
SLOW := slow or emulator or kubectl
#: Sweeps of faults over whole lives: on demand, not with every change. And what needs a real control plane, or
#: Terraform: apart.
FAULTS := faults or sweep
PLANE := controlplane
TERRAFORM := terraform

.PHONY: help env demo test test-slow test-faults sweep control-plane test-control-plane fuzz bench \
	terraform-tools test-terraform mutants-terraform plans check docs docs-check docs-doctor docs-kubectl crds lock clean
.DEFAULT_GOAL := help

help: ## List what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-19s %s\n", $$1, $$2 }' Makefile

env: $(READY) ## Make the environment in .venv (the others do it by themselves)

# Made once, and again when the lock or the project file changes. Hashes are checked; nothing else is resolved.
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "make: Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) \
		|| { echo "make: this Python cannot make environments (Debian: apt-get install python3-venv)" >&2; exit 1; }
	@echo "Installing the locked dependencies into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(READY) ## Show a TPU slice from apply to deleted, on this machine alone
	@$(BIN)/tpu-node-group demo $(ARGS)

test: $(READY) ## Run the tests (those that need nothing but Python)
	@$(BIN)/python -m pytest -q -m "not ($(SLOW) or $(FAULTS) or $(PLANE) or $(TERRAFORM))" $(ARGS)

test-slow: $(READY) ## Run the others: long ones, and those that need kubectl, Java or the Pub/Sub emulator
	@$(BIN)/python -m pytest -q -m "($(SLOW)) and not ($(FAULTS) or $(PLANE) or $(TERRAFORM))" $(ARGS)

test-faults: $(READY) ## Fail, lose and delay calls and events in whole lives (minutes)
	@$(BIN)/python -m pytest -q -m "faults and not $(PLANE)" $(ARGS)

sweep: $(READY) ## Lose, double, delay, swap each event of whole lives, kill at each (minutes)
	@$(BIN)/python -m pytest -q -s -m sweep tests/sweep $(ARGS)

control-plane: ## Build Kubernetes itself for the tests, into a cache (five minutes once; needs Go 1.26)
	@tests/controlplane/build.sh

test-control-plane: $(READY) control-plane ## Run what needs a real Kubernetes control plane (and kubectl)
	@$(BIN)/python -m pytest -q -m "$(PLANE)" $(ARGS)

fuzz: $(READY) ## Look for an entry that the decoding cannot bear: ten minutes, or SECONDS=60
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-fuzz.lock
	@$(BIN)/python -m tests.fuzz.decode --seconds $(SECONDS)

terraform-tools: ## Build the tools of the Terraform tests into a cache (three minutes once; needs Go 1.26)
	@tests/terraform/build.sh

test-terraform: $(READY) terraform-tools ## Run what needs Terraform: modules, examples, plans
	@$(BIN)/python -m pytest -q -m "$(TERRAFORM)" $(ARGS)

bench: $(READY) ## Measure the event path beside the Pub/Sub client alone (minutes)
	@$(BIN)/python -m benchmarks.intake $(ARGS)

check: $(READY) ## Lint, types, layers, shell scripts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/shellcheck $(SCRIPTS)

docs: $(READY) ## Write the pages that are made from code
	@$(BIN)/python -c 'from controller.settings.reference import page; print(page(), end="")' > docs/settings.md
	@$(BIN)/python -m tests.terraform.readme

docs-doctor: $(READY) ## Write the transcripts in docs/doctor.md
	@$(BIN)/python -m tests.docs.doctor_output

mutants-terraform: $(READY) terraform-tools ## Take each relation out in turn; name the test that fails for it
	@$(BIN)/python -m tests.terraform.mutants $(ARGS)

plans: $(READY) terraform-tools ## Write the examples' plans into tests/data/terraform
	@$(BIN)/python -m tests.terraform.plans

docs-kubectl: $(READY) control-plane ## Write the transcript in docs/kubectl.md anew, on a real control plane
	@WRITE_DOCS=1 $(BIN)/python -m pytest -q tests/docs/test_kubectl.py

docs-check: $(READY) ## Run what README and docs show again and compare (times masked)
	@$(BIN)/python -m pytest -q tests/docs $(ARGS)

crds: $(READY) ## Write deploy/crds from the models
	@mkdir -p deploy/crds
	@$(BIN)/tpu-node-group crds --output-dir deploy/crds

lock: ## Resolve the dependencies anew into requirements.lock, the image's and the fuzzer's (needs uv)
	uv pip compile --universal --generate-hashes --no-emit-index-url --no-header --no-annotate \
		--python-version 3.11 --extra dev pyproject.toml -o requirements.lock
	uv pip compile --universal --generate-hashes --no-emit-index-url --no-header --no-annotate \
		--python-version 3.11 --constraint requirements.lock pyproject.toml -o deploy/requirements.lock
	uv pip compile --universal --generate-hashes --no-emit-index-url --no-header --no-annotate \
		--python-version 3.11 --group fuzz -o requirements-fuzz.lock

clean: ## Remove the environment and everything made
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .fuzz
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
