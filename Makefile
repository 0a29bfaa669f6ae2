# Every target is a script of a few lines; nothing but Python 3.11 or newer is needed.
.PHONY: help demo install test check docs bench clean

help:     ## show this list
	@grep -hE '^[a-z]+:.*##' Makefile

demo:     ## run the worked example: five agents in a park, one gate
	@scripts/demo

install:  ## make .venv with indult and the developer tools
	@scripts/install --dev

test:     ## run the tests
	@scripts/test

check:    ## lint, types, layers, docstrings, current docs
	@scripts/check

docs:     ## write the generated reference pages anew
	@scripts/docs

bench:    ## print the figures of the benchmarks
	@scripts/bench

clean:    ## remove .venv and caches
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
