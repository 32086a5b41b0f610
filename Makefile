.PHONY: setup demo notebook test thorough lint quick check dist bench attacks audit lab lock

PY := .venv/bin/python
MEMBERS := models client agent service lab notebooks public
DIST := dist
PYTEST := $(PY) -m pytest --dist loadfile --no-loadscope-reorder --again
STAMP := .venv/.lutra-$(shell cat requirements.lock $(MEMBERS:%=%/pyproject.toml) | cksum | cut -d' ' -f1)

setup: $(STAMP)  ## build .venv from requirements.lock, every distribution installed editable into it

$(STAMP):
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Lutra needs Python 3.11 or newer; python3 is $$(python3 -V)"; exit 1; }
	@echo "Installing what Lutra needs into .venv: a minute or two, once"
	@command -v uv >/dev/null || python3 -m uv --version >/dev/null 2>&1 || python3 -m pip install --quiet uv 2>/dev/null || python3 -m pip install --quiet --user --break-system-packages uv
	@UV=$$(command -v uv || echo "python3 -m uv"); \
	  $$UV venv --quiet --allow-existing --python python3 .venv && \
	  $$UV pip sync --quiet --compile-bytecode --python $(PY) --require-hashes requirements.lock && \
	  $$UV pip install --quiet --python $(PY) --no-deps --no-build-isolation $(MEMBERS:%=-e %)
	@$(PY) -m compileall -q $(MEMBERS)
	@rm -f .venv/.lutra-* && touch $@

demo: setup  ## tune an embedded PostgreSQL 18 under pgbench, start to end
	.venv/bin/lutra demo

notebook: setup  ## open the notebooks in JupyterLab, in place
	.venv/bin/lutra notebook --folder notebooks/lutra_notebooks/book

test: setup  ## every behaviour, each on the cheapest server that shows it
	$(PYTEST) -n auto -m "not thorough"

thorough: setup  ## the other tests: every engine and version, kills at depth, whole sessions, demos, wheels, benchmarks
	$(PYTEST) -n auto -m thorough

lint: setup  ## ruff, mypy, import-linter, and the style of all prose
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/lint-imports
	$(PY) -m tests.architecture.prose

quick: setup  ## one case of each quick test; their files lie in memory where the system has a folder for that
	TMPDIR=$(wildcard /dev/shm) $(PYTEST) -n logical --one-case -m "not slow and not engine and not thorough"

check: setup  ## lint and the quick tests, side by side; lint's words come at the end
	@$(MAKE) --no-print-directory lint >.venv/lint.log 2>&1 & lint=$$!; \
	  $(MAKE) --no-print-directory quick; tests=$$?; \
	  wait $$lint; status=$$?; cat .venv/lint.log; exit $$((tests || status))

dist: setup  ## build the wheels of every distribution into dist/, without the network
	@for member in $(MEMBERS); do $(PY) -m uv build --quiet --wheel --no-build-isolation --python $(PY) -o $(DIST) $$member || exit 1; done

bench: setup  ## the speed of a recommendation, of REST answers and of ingestion, and the agent's footprint; `python -m benchmarks` lists the rest
	$(PY) -m benchmarks tuning speed
	$(PY) -m benchmarks rest_latency
	$(PY) -m benchmarks ingestion
	$(PY) -m benchmarks agent_footprint

attacks: setup  ## what strangers, bad tokens, bad plug-ins, hostile services, generated requests and SIGKILL can do: an hour and a half
	$(PY) -m benchmarks attacks strangers
	$(PY) -m benchmarks attacks bad_token
	$(PY) -m benchmarks attacks plugin
	$(PY) -m benchmarks attacks hostile_service
	$(PY) -m benchmarks attacks fuzz
	$(PY) -m benchmarks attacks kills

audit: setup  ## whether a package of requirements.lock has a known fault; status 2: nobody answered, so it was not checked
	$(PY) .ci/audit

lab: setup  ## tune MariaDB, MySQL and PostgreSQL on a small host, an hour a study; interrupt and go on at will; needs root
	$(PY) -m benchmarks lab

lock:  ## re-resolve requirements.lock
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	  $(MEMBERS:%=%/pyproject.toml) pyproject.toml --all-extras --group dev \
	  $(patsubst %,--no-emit-package lutra-%,models client agent service public) -o requirements.lock
