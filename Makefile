# Every command of the project; `make` alone lists them.
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-all examples lint docs ui viz lock clean

BIN := .venv/bin
SETUP := @sh scripts/setup.sh
STEP := @sh scripts/step.sh
UI_PORT := $(shell sed -n 's/^  port: "\([0-9]*\)"/\1/p' conf/base/mlflow.yml)
# The runs, in the view for training: MLflow opens that of language-model apps otherwise, whatever an experiment is.
UI_VIEW := \#/experiments/1/runs?workflowType=machine_learning
VIZ_PORT := 4141
# Warnings, such as a broken link between pages, are errors.
SPHINX := $(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs docs/_build

# The Python to make .venv with; without it the first of 3.11, 3.12 and 3.13 that is found.
export PYTHON
# Kedro, Kedro-Viz and MLflow report their use to their makers unless told not to.
export DO_NOT_TRACK := true
# Set-up leaves byte-compiling to the first import, and that has to be kept.
unexport PYTHONDONTWRITEBYTECODE

help:  ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-9s %s\n", $$1, $$2}' Makefile

demo:  ## Set up .venv, then a short way through everything on the made-up world
	$(SETUP) workbench
	$(STEP) "the demo: kedro run --pipelines demo" $(BIN)/kedro run --pipelines demo --runner ThreadRunner

test:  ## Set up .venv, then run the quick tests
	$(SETUP) workbench dev
	$(STEP) "the quick tests" $(BIN)/pytest -m "not slow" --numprocesses auto

test-all:  ## Set up .venv, then run every test
	$(SETUP) workbench dev
	$(STEP) "all tests" $(BIN)/pytest --numprocesses auto

examples:  ## After make demo: run what README.md, docs/ and notebooks/ show
	$(SETUP) workbench dev
	$(STEP) "the examples" $(BIN)/pytest tests/test_examples.py --numprocesses auto

lint:  ## Check style, words, types, imports between packages, and the documentation
	$(SETUP) workbench dev
	$(STEP) "ruff check" $(BIN)/ruff check .
	$(STEP) "ruff format" $(BIN)/ruff format --check .
	$(STEP) "plain words" $(BIN)/python scripts/check_words.py
	$(STEP) "mypy" $(BIN)/mypy
	$(STEP) "import-linter" $(BIN)/lint-imports --no-logo
	$(STEP) "the documentation" $(SPHINX)

docs:  ## Build the documentation site: docs/_build/index.html
	$(SETUP) workbench dev
	$(STEP) "the documentation" $(SPHINX)
	@echo "==> open docs/_build/index.html"

ui:  ## Open the runs in the MLflow UI; another port: conf/base/mlflow.yml, or make ui UI_PORT=5001
	@[ -f mlflow.db ] || { echo "There is no run to show yet (no mlflow.db): 'make demo' makes one."; exit 1; }
	$(SETUP) workbench
	@echo "==> MLflow UI: http://127.0.0.1:$(UI_PORT)/$(UI_VIEW) in a few seconds; Ctrl-C ends it"
	@MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false $(BIN)/mlflow server --backend-store-uri sqlite:///mlflow.db \
		--workers 1 --host 127.0.0.1 --port $(UI_PORT)

viz:  ## Draw the pipelines in Kedro-Viz; another port: make viz VIZ_PORT=4142
	$(SETUP) workbench viz
	@echo "==> Kedro-Viz: http://127.0.0.1:$(VIZ_PORT) in a few seconds; Ctrl-C ends it"
	@$(BIN)/kedro viz run --host 127.0.0.1 --port $(VIZ_PORT) --no-browser

lock:  ## Write constraints.txt anew from the newest versions that pyproject.toml allows
	$(STEP) "the newest versions allowed" sh scripts/lock.sh

clean:  ## Remove .venv and the tools' caches; data/, mlflow.db and mlruns/ stay
	$(STEP) "removing .venv and caches" rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache \
		.hypothesis .viz docs/_build docs/reference src/contexture.egg-info
