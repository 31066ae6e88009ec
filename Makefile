# make tour   runs the notebooks and writes them, executed, with HTML pages beside them
# make test   runs everything: ruff, mypy, import-linter, pytest
# make lab    opens the notebooks in JupyterLab
# make bench  times the kernels beside PyTorch and JAX, which it installs
# Each sets up .venv first; PYTHON names the Python (3.11 or newer) that it is made with.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
TOUR = build/tour
# PyPI's plain torch for Linux brings CUDA along; name a CPU build here if there is one at hand.
TORCH ?= torch>=2.4

.PHONY: tour test lab bench clean

$(VENV)/.tour: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[tour]'
	touch $@

$(VENV)/.test: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@ $(VENV)/.tour

tour: $(VENV)/.tour
	mkdir -p $(TOUR)
	$(BIN)/jupyter nbconvert --execute --to notebook --output-dir $(TOUR) notebooks/*.ipynb
	$(BIN)/jupyter nbconvert --to html --output-dir $(TOUR) $(TOUR)/*.ipynb
	@echo "The executed notebooks and their pages are in $(TOUR), $(TOUR)/01-first-gradient.html first"

test: $(VENV)/.test
	$(BIN)/ruff check logosnb tests
	$(BIN)/ruff format --check logosnb tests
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2

lab: $(VENV)/.tour
	$(BIN)/jupyter lab notebooks

$(VENV)/.bench: $(VENV)/.tour
	$(BIN)/pip install --quiet --disable-pip-version-check '$(TORCH)' jax
	touch $@

bench: $(VENV)/.bench
	$(BIN)/python -m logosnb.bench

clean:
	rm -rf $(VENV) build
