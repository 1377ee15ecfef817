# `make test` installs what the tests need and runs them all; CI runs the same.

SHELL := /bin/bash
CARGO ?= cargo

.PHONY: all test check unit bare-metal formal bench throughput bogo tlsfuzzer soak setup clean

all:
	$(CARGO) build --release

# Everything that a change must pass.
test: setup check unit bare-metal

# What the tests need from Debian: OpenSSL as a peer, program and library, Chromium for reports, etcd,
# a compiler for a bare-metal target.
setup:
	scripts/setup-tests

check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked
	formal/run --check
	python3 formal/test_run.py
	conformance/vectors/check
	scripts/package

unit:
	$(CARGO) test --workspace --locked
	$(CARGO) test --package tessera-aws-lc --no-default-features --locked

# The engine is no_std: it builds for a Cortex-M33.
bare-metal:
	scripts/build-bare-metal

# The ProVerif models, all of them; needs proverif in the PATH. See formal/README.md.
formal:
	formal/run

# Instruction counts of the protocol code; see bench/README.md.
bench:
	bench/protocol-cost

# Bulk transfers next to tokio-rustls; see bench/README.md.
throughput:
	bench/throughput

# BoringSSL's protocol tests; see docs/conformance.md. RUNNER is the folder ssl/test/runner of a
# checkout.
bogo:
	scripts/bogo "$(RUNNER)"

# tlsfuzzer's TLS 1.3 scripts; see docs/conformance.md. TLSFUZZER is a checkout, PYTHON one with its
# packages.
PYTHON ?= python3
tlsfuzzer:
	$(CARGO) build --locked --package tessera-cli
	conformance/tlsfuzzer/run --tlsfuzzer "$(TLSFUZZER)" --python "$(PYTHON)" \
	  --tessera "$${CARGO_TARGET_DIR:-target}/debug/tessera"

# What CI runs 1,000 times, 100,000 times: every increment counted once, and memory flat.
soak:
	$(CARGO) run --release --locked --package tessera-exactly-once -- 100000

clean:
	$(CARGO) clean
