# `make test` installs what the tests need and runs them all; CI runs the same.

SHELL := /bin/bash
CARGO ?= cargo

.PHONY: all test check unit bare-metal bench setup clean

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

unit:
	$(CARGO) test --workspace --locked

# The engine is no_std: it builds for a Cortex-M33.
bare-metal:
	scripts/build-bare-metal

# Instruction counts of the protocol code; see bench/README.md.
bench:
	bench/protocol-cost

clean:
	$(CARGO) clean
