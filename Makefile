# Two commands matter: `make release` and `make test`. Both set up what they need.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python -m
CITY = $(if $(SETTINGS),--settings $(SETTINGS)) $(if $(WEEK),--week $(WEEK))

.PHONY: release check verify study ui budget ledger test browser lint bench clean

release: $(VENV)/ready  ## one week, from records to everything derived from them [SETTINGS=my.toml] [WEEK=2007-09-10]
	@$(RUN) density_assets release $(CITY)

check: $(VENV)/ready  ## say what a city's own files hold, without running anything [SETTINGS=my.toml] [WEEK=…]
	@$(RUN) density_assets check $(CITY)

verify: $(VENV)/ready  ## check that a release's files, statement and ledger belong together RELEASE=…/privacy_statement_….json
	@$(RUN) density_assets verify $(RELEASE)

study: $(VENV)/ready  ## compare every scheme with the truth of a synthetic city NAME=schemes [SETTINGS=…] [REPETITIONS=20]
	@$(RUN) density_assets study $(NAME) $(CITY) $(if $(REPETITIONS),--repetitions $(REPETITIONS))

ui: $(VENV)/ready  ## Dagster web UI on this machine [SETTINGS=my.toml] [PORT=3000]
	@$(RUN) density_assets ui $(if $(SETTINGS),--settings $(SETTINGS)) $(if $(PORT),--port $(PORT))

budget: $(VENV)/ready  ## what releases have cost and what plans would cost [SETTINGS=…] [EPSILON=0.3] [WEEKS=52]
	@$(RUN) density_assets budget $(CITY) $(if $(EPSILON),--epsilon $(EPSILON)) $(if $(WEEKS),--weeks $(WEEKS))

ledger: $(VENV)/ready  ## verify the ledger [ACTION=backup|restore FILE=copy.sqlite]
	@$(RUN) density_assets ledger $(or $(ACTION),verify) $(FILE)

test: lint browser  ## everything that must hold
	$(RUN) pytest -n 2

browser:  # tests of pages need Debian's chromium; where it cannot be installed they are skipped and say so
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null \
	|| (apt-get update -qq && apt-get install -y -qq chromium chromium-driver) >/dev/null 2>&1 \
	|| echo "chromium is not installed and could not be: tests of pages will be skipped"

lint: $(VENV)/ready  ## style and types
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

bench: $(VENV)/ready  ## cost of each step, as ratios in one run; see docs/performance.md
	@$(RUN) bench

clean:  ## forget the environment, keep the data
	rm -rf $(VENV)

$(VENV)/ready: pyproject.toml constraints.txt
	@echo "setting up $(VENV) (once)"
	@$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), f"Python 3.11 or newer is needed, this is {sys.version}"'
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@
