# Two commands matter: `make release` and `make test`. Both set up what they need.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python -m
CITY = $(if $(SETTINGS),--settings $(SETTINGS)) $(if $(WEEK),--week $(WEEK))

# Who and why go through the environment, as they are: neither make nor a shell reads them as a command.
ifdef BY
override BY := $(value BY)
export DENSITY_BY := $(BY)
endif
ifdef REASON
override REASON := $(value REASON)
export DENSITY_REASON := $(REASON)
endif

.PHONY: release backfill rebuild final evaluate check plan verify audit study results ui budget ledger purge test mutants browser servers readers unflushed docs lint bench bench-scale bench-year bench-peers walk size clean

release: $(VENV)/ready  ## one week, from records to everything derived from them [SETTINGS=my.toml] [WEEK=2007-09-10] [BY=…] [REASON=…]
	@$(RUN) density_assets release $(CITY)

backfill: $(VENV)/ready  ## one week after another, until the first that is refused FROM=2007-09-10 TO=2007-10-08 [SETTINGS=…]
	@$(RUN) density_assets backfill $(if $(SETTINGS),--settings $(SETTINGS)) --from $(FROM) --to $(TO)

rebuild: $(VENV)/ready  ## tables and files of released weeks again, from stored draws [FROM=…] [TO=…] [SETTINGS=…] [ANEW=1 BY=… REASON=…]
	@$(RUN) density_assets rebuild $(if $(SETTINGS),--settings $(SETTINGS)) $(if $(FROM),--from $(FROM)) $(if $(TO),--to $(TO)) $(if $(ANEW),--anew)

final: $(VENV)/ready  ## a released week again with the weeks after it, beside the first; no charge WEEK=2007-09-10 [SETTINGS=my.toml] [ANEW=1] [BY=…] [REASON=…]
	@$(RUN) density_assets final --week $(WEEK) $(if $(SETTINGS),--settings $(SETTINGS)) $(if $(ANEW),--anew)

evaluate: $(VENV)/ready  ## a released week against the truth; confidential of real people WEEK=2007-09-10 [SETTINGS=my.toml]
	@$(RUN) density_assets evaluate $(CITY)

check: $(VENV)/ready  ## say what a city's own files hold, without running anything [SETTINGS=my.toml] [WEEK=…] [ACKNOWLEDGE=1 BY=… REASON=…]
	@$(RUN) density_assets check $(CITY) $(if $(ACKNOWLEDGE),--acknowledge)

plan: $(VENV)/ready  ## which errors to expect, by a rehearsal with invented people; no charge [SETTINGS=my.toml] [PEOPLE=…] [QUICK=1]
	@$(RUN) density_assets plan $(if $(SETTINGS),--settings $(SETTINGS)) $(if $(PEOPLE),--people $(PEOPLE)) $(if $(QUICK),--quick)

verify: $(VENV)/ready  ## check a release and who signed it RELEASE=…/manifest_….json [KEY=fingerprint] [SECOND=fingerprint] [ANCHOR=heads.jsonl]
	@$(RUN) density_assets verify $(RELEASE) $(if $(KEY),--key "$(KEY)") $(if $(SECOND),--second "$(SECOND)") $(if $(ANCHOR),--anchor $(ANCHOR))

audit: $(VENV)/ready  ## the auditor's page, anew from the ledger and the releases [SETTINGS=my.toml]
	@$(RUN) density_assets audit $(if $(SETTINGS),--settings $(SETTINGS))

study: $(VENV)/ready  ## one study: table, figures, summary NAME=schemes [SETTINGS=…] [REPETITIONS=20] [DATA=traces]
	@$(RUN) density_assets study $(NAME) $(CITY) $(if $(REPETITIONS),--repetitions $(REPETITIONS)) $(if $(DATA),--data $(DATA))

results: $(VENV)/ready  ## run studies and write docs/results.md [STUDIES="schemes caps"] [SETTINGS=…] [PAGE=docs/results.md]
	@$(RUN) density_assets results $(CITY) $(if $(PAGE),--page $(PAGE)) $(if $(STUDIES),--studies $(STUDIES)) $(if $(REPETITIONS),--repetitions $(REPETITIONS))

ui: $(VENV)/ready  ## Dagster web UI on this machine [SETTINGS=my.toml] [PORT=3000] [READONLY=1]
	@$(RUN) density_assets ui $(if $(SETTINGS),--settings $(SETTINGS)) $(if $(PORT),--port $(PORT)) $(if $(READONLY),--read-only)

budget: $(VENV)/ready  ## what releases have cost and what plans would cost [SETTINGS=…] [EPSILON=0.3] [WEEKS=52]
	@$(RUN) density_assets budget $(CITY) $(if $(EPSILON),--epsilon $(EPSILON)) $(if $(WEEKS),--weeks $(WEEKS))

ledger: $(VENV)/ready  ## verify the ledger [ACTION=init|moved|key|anchor|backup|restore|copy|tables] [FILE=copy.sqlite] [TO=postgresql://…] [BY=…] [REASON=…] [SETTINGS=…]
	@$(RUN) density_assets ledger $(or $(ACTION),verify) $(FILE) $(if $(TO),--to "$(TO)") $(if $(SETTINGS),--settings $(SETTINGS))

purge: $(VENV)/ready  ## erase the confidential zone of a released week WEEK=2007-09-10 [SETTINGS=my.toml] [FORCE=1]
	@$(RUN) density_assets purge $(CITY) $(if $(FORCE),--force)

test: lint browser servers readers unflushed  ## everything that must hold
	$$(command -v eatmydata) $(RUN) pytest -n 2 --dist loadscope

mutants: $(VENV)/ready  ## small faults in the code that keeps the promise: is each noticed by a test? [PART=privacy/noise]
	@nice -n 15 $(RUN) tests.mutation $(PART)

browser:  # tests of pages need Debian's chromium; where it cannot be installed they are skipped and say so
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null \
	|| (apt-get update -qq && apt-get install -y -qq chromium chromium-driver) >/dev/null 2>&1 \
	|| echo "chromium is not installed and could not be: tests of pages will be skipped"

unflushed:  # nothing that a test writes outlives it: waiting for the disk, a quarter of the time, is left out where it can be
	@command -v eatmydata >/dev/null \
	|| (apt-get update -qq && apt-get install -y -qq eatmydata) >/dev/null 2>&1 \
	|| echo "eatmydata is not installed and could not be: tests will wait for the disk"

servers:  # tests of shared ledgers and of Spark need Debian's packages; where they cannot be installed these are skipped
	@command -v java >/dev/null \
	|| (apt-get update -qq && apt-get install -y -qq openjdk-17-jre-headless) >/dev/null 2>&1 \
	|| echo "Java is not installed and could not be: tests of Spark will be skipped"
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 \
	|| (apt-get update -qq && apt-get install -y -qq postgresql) >/dev/null 2>&1 \
	|| echo "postgresql is not installed and could not be: tests of shared ledgers will be skipped"

readers:  # tests of what planners type in R need Debian's packages; where they cannot be installed these are skipped
	@test -d /usr/lib/R/site-library/sf && command -v Rscript >/dev/null \
	|| (apt-get update -qq && apt-get install -y -qq --no-install-recommends r-base-core r-cran-sf) >/dev/null 2>&1 \
	|| echo "R and its package sf are not installed and could not be: tests of R will be skipped"

docs: $(VENV)/ready  ## the documentation as a site, in build/site
	@NO_MKDOCS_2_WARNING=1 $(RUN) mkdocs build --strict
	@echo "open build/site/index.html"

walk: $(VENV)/ready  ## docs/walk.md anew, from a traced release
	@$(VENV)/bin/python tests/support/walk.py

size: $(VENV)/ready  ## lines, modules, imports, and what the code location loads
	@$(RUN) bench.size

lint: $(VENV)/ready  ## style, layers and types
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/lint-imports --no-cache
	$(VENV)/bin/mypy

bench: $(VENV)/ready  ## cost of each step, as ratios in one run; about ten minutes, 4 GB of disk; see docs/performance.md
	@$(RUN) bench

bench-scale: $(VENV)/ready  ## the visits side on DuckDB and on Spark, and what a country would take; about nine minutes, Java 17; see docs/scale.md
	@$(RUN) bench scale

bench-year: $(VENV)/ready  ## whole releases of a town of four cells, 52 weeks one after another: what each costs; about ten minutes
	@$(RUN) bench year

bench-peers: $(VENV)/ready  ## the same counts by PipelineDP, OpenDP, Tumult and us: cost and error; see docs/performance.md [ROWS="2000000 10000000"]
	@$(RUN) bench peers $(if $(ROWS),--rows $(ROWS))

clean:  ## forget the environments, keep the data
	rm -rf $(VENV) .venv-peers

$(VENV)/ready: pyproject.toml constraints.txt
	@echo "setting up $(VENV) (once)"
	@$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), f"Python 3.11 or newer is needed, this is {sys.version}"'
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@
