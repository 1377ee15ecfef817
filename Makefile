# `make test` installs what the tests need and runs them all; CI runs the same.

SHELL := /bin/bash
CARGO ?= cargo

.PHONY: all test check unit bare-metal formal bench throughput bogo setup clean

all:
	$(CARGO) build --release

# Everything that a change must pass.
test: setup check unit bare-metal

# What the tests need from Debian: OpenSSL as a peer, Chromium for reports, etcd, a compiler for a
# bare-metal target.
setup:
	scripts/setup-tests

check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked
	formal/run --check

unit:
	$(CARGO) test --workspace --locked

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

clean:
	$(CARGO) clean
