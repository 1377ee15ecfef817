# `make test` installs what the tests need and runs them all; CI runs the same. `make evidence` runs
# what takes long or must be fetched and compiled, and writes the results into docs/evidence.
#
# The lines with two hashes are what `make help` prints.

SHELL := /bin/bash
CARGO ?= cargo
PYTHON ?= python3
TARGET = $${CARGO_TARGET_DIR:-target}

# The parts of `make evidence`, and what each runs. A part that lacks an input ends with 2 and names it.
EVIDENCE = msrv formal bogo tlsfuzzer newer-peers dtls-peers mobile-peers soak datagram-soak ml-kem kem-timing kem-traces one-time-kems fuzz tunnel memory bench datagram-cost \
	throughput connect-rate idle-connections tunnel-cost sepp sepp-receivers sepp-relay stek edge captures heap firmware-peers rp2350 \
	size-peers mutants
RUN_msrv = scripts/msrv
RUN_formal = formal/run
RUN_bogo = scripts/bogo "$(RUNNER)"
RUN_tlsfuzzer = conformance/tlsfuzzer/run --tlsfuzzer "$(TLSFUZZER)" --python "$(PYTHON)" \
	--tessera "$(TARGET)/debug/tessera"
RUN_newer-peers = scripts/newer-peers
RUN_dtls-peers = scripts/dtls-peers
RUN_mobile-peers = scripts/mobile-peers --test
RUN_soak = $(CARGO) run --release --locked --quiet --package tessera-exactly-once -- 100000
RUN_datagram-soak = $(CARGO) test --release --locked --quiet --package tessera-endpoint --test endpoint \
	-- --ignored --nocapture
RUN_ml-kem = scripts/ml-kem
RUN_kem-timing = scripts/kem-timing
RUN_kem-traces = scripts/kem-traces
RUN_one-time-kems = bench/one-time-kems
RUN_fuzz = env FUZZ_FACTOR=100 $(CARGO) test --release --locked --quiet --package tessera-tls --package tessera-endpoint \
	--package tessera-fixed-pki --lib --test datagrams --test endpoint --test verifier -- fuzz_
RUN_tunnel = $(CARGO) test --locked --quiet --package tessera-tunnel-tests --test tunnel -- --ignored --nocapture --test-threads 1
RUN_memory = env PROFILE=dist scripts/memory --connections 1,30,10000
RUN_bench = bench/handshake-cost
RUN_datagram-cost = bench/datagram-cost
RUN_throughput = bench/throughput
RUN_connect-rate = bench/connect-rate
RUN_idle-connections = bench/idle-connections
RUN_tunnel-cost = bench/tunnel-cost all --aws-lc
RUN_sepp = $(CARGO) test --locked --quiet --package tessera-sepp-tests --test sepp -- --ignored --nocapture --test-threads 1
RUN_sepp-receivers = $(CARGO) test --locked --quiet --package tessera-sepp --test spoofing -- --ignored --nocapture
RUN_sepp-relay = bench/sepp-relay all
RUN_stek = env TMPDIR=/dev/shm $(CARGO) test --release --locked --quiet --package tessera-stek-tests --test stek \
	-- --ignored --nocapture --test-threads 1
RUN_edge = env TMPDIR=/dev/shm PYTHON="$(PYTHON)" $(CARGO) test --release --locked --quiet \
	--package tessera-edge-tests --test edge -- --ignored --nocapture --test-threads 1
RUN_captures = $(CARGO) test --locked --quiet --package tessera-lab --lib -- tcpdump --nocapture
RUN_heap = $(CARGO) test --locked --quiet --package tessera-lab --package tessera-cli \
	--features tessera-lab/heap,tessera-cli/heap --lib --test lab \
	-- --include-ignored
RUN_firmware-peers = scripts/firmware-peers --newer
RUN_rp2350 = scripts/rp2350
RUN_size-peers = scripts/size-peers --tessera "$(TARGET)/debug/tessera"
RUN_mutants = scripts/mutants

.PHONY: all help test setup check unit bare-metal firmware program evidence results tls12 edge-peers edge-gap deb \
	$(EVIDENCE) $(EVIDENCE:%=evidence-%) evidence-firmware clean

## all                build the program
all:
	$(CARGO) build --release

## help               this list
help:
	@sed -n 's/^## //p' Makefile

## test               everything that a change must pass, and how long each part took
test:
	+scripts/test-parts setup check+bare-metal+firmware unit

## setup              install from Debian what the tests need: peers, libraries, a bare-metal target
setup:
	scripts/setup-tests
	$(CARGO) run --quiet --locked --package tessera-test-peers

## check              subjects of commits, words, dependencies, format, lints, documentation, recorded models, test
##                    vectors, TLS 1.2 of the lab, packages
check:
	scripts/subjects
	scripts/words
	scripts/deny
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path firmware/Cargo.toml --check
	$(CARGO) fmt --manifest-path firmware/rp2350/Cargo.toml --check
	$(CARGO) fmt --manifest-path firmware/size-peers/Cargo.toml --all --check
	$(CARGO) fmt --manifest-path conformance/ml-kem/Cargo.toml --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) clippy --package tessera-rustcrypto --all-features --all-targets --locked -- -D warnings
	scripts/docs
	formal/run --check
	python3 formal/test_run.py
	python3 bench/test_own_instructions.py
	python3 firmware/test_sizes.py
	conformance/vectors/check
	testing/tls12/run -m unittest discover --quiet testing/tls12
	scripts/package
	scripts/deb-contents
	scripts/third-party

## unit               the tests of all crates
unit:
	scripts/unit-tests
	$(CARGO) test --package tessera-aws-lc --no-default-features --locked
	$(CARGO) test --package tessera-rustcrypto --no-default-features --features x25519,chacha20poly1305 --locked
	$(CARGO) test --package tessera-rustcrypto --all-features --tests --locked

## bare-metal         check what is no_std for a Cortex-M33
bare-metal:
	scripts/bare-metal

## firmware           connect on an emulated Cortex-M33, and compare what it takes with firmware/budgets.json
firmware:
	$(CARGO) test --quiet --locked --manifest-path firmware/host/Cargo.toml --features psk
	$(CARGO) test --quiet --locked --manifest-path firmware/host/Cargo.toml --features ml-dsa
	$(CARGO) test --quiet --locked --manifest-path firmware/host/Cargo.toml --features cached
	$(CARGO) test --quiet --locked --manifest-path firmware/host/Cargo.toml --features cached-rsa
	$(CARGO) test --quiet --locked --manifest-path firmware/host/Cargo.toml --features kem-pinned
	$(CARGO) test --quiet --locked --manifest-path firmware/host/Cargo.toml --features kem-raw-key
	$(CARGO) test --quiet --locked --manifest-path firmware/host/Cargo.toml --features kem-x509
	$(CARGO) test --quiet --locked --manifest-path firmware/host/Cargo.toml --features suites --test suites
	scripts/firmware --small --check --connections 200 --images psk kem-pinned
	scripts/firmware --small --check --connections 5 --images p256 hybrid ml-dsa kem-x509 cached
	scripts/firmware-peers --images psk p256 hybrid kem-pinned

## evidence           run and record all parts below, each also alone as evidence-PART; see docs/evidence
evidence:
	$(MAKE) --keep-going $(EVIDENCE:%=evidence-%) evidence-firmware

$(EVIDENCE:%=evidence-%): evidence-%:
	scripts/evidence $* $(RUN_$*)

## evidence-firmware  10,000 connections on an emulated Cortex-M33, and 200 of each other image; half an hour
evidence-firmware:
	scripts/evidence firmware scripts/firmware-soak

## msrv               the whole workspace with the minimum Rust version; needs rustup
## formal             the ProVerif models, all of them; needs proverif; see formal/README.md
## bogo               BoringSSL's tests; RUNNER is the folder ssl/test/runner of a checkout, with Go
## tlsfuzzer          tlsfuzzer's TLS 1.3 scripts; TLSFUZZER is a checkout, PYTHON one with its packages
## newer-peers        other stacks in later versions: OpenSSL 3.5, NSS 3.110, GnuTLS 3.8 of Debian 13; fetches them
## dtls-peers         DTLS 1.3 with wolfSSL, BoringSSL, purecrypto and krabitls; fetches and builds them; needs cmake, libclang
## mobile-peers       pion, Scandium and quinn with clients that move; fetches and builds them; needs Go, Maven, a JDK
## soak               increments that must count once, a hundred times as often as in the tests
## datagram-soak      100,000 handshakes and 100,000 moves over paths that lose, double and reorder datagrams, behind NATs
##                    that forget, with copied and forged records, in virtual time
## fuzz               random datagrams for DTLS's records, fragments, ACKs, cookies and sleep, and for frozen associations, resets
##                    and messages of return routability checks; changed chains for the verifier of devices: a hundred times the
##                    tests' seeds
## ml-kem             ML-KEM compared with other implementations, a million keys of each size, and NIST's vectors; fetches
##                    libcrux; runs the next two as well
## kem-timing         no time of ML-KEM-768's decapsulations depends on a secret: two minutes, without other load
## kem-traces         an emulated Cortex-M33 takes the same branches in ML-KEM with different secrets: a quarter of an hour
## one-time-kems      what one-time KEMs cost, compared with ML-KEM, ours and others'; needs valgrind; see bench/README.md
## tunnel             tests of tunnels that take long: 10,000 half-open connections, replays by the hundred
## memory             what 10,000 connections leave in the memory of the programs; needs root
## bench              what a handshake costs, compared with rustls; needs valgrind; see bench/README.md
## datagram-cost      what associations over datagrams cost, compared with dimpl; see bench/README.md
## throughput         bulk transfers, compared with tokio-rustls; see bench/README.md
## connect-rate       connections a second, compared with rustls; see bench/README.md
## idle-connections   what idle and hostile connections cost; see bench/README.md
## tunnel-cost        tunnels, compared with stunnel and HAProxy, and with HAProxy on AWS-LC, which it builds; needs root, cmake;
##                    see bench/README.md
## sepp               Envoy as a peer of a SEPP; needs ENVOY, the program
## sepp-receivers     what readers in C, Go and JavaScript find in messages that pass a SEPP; needs Go and Node.js
## sepp-relay         SEPPs, compared with Envoy and nghttpx; needs ENVOY, the program; see bench/README.md
## stek               a thousand rotations under load; needs ENVOY, the program
## edge               moves of edge proxies: their time, a hundred a second, Envoy as a member, browsers and curl as clients;
##                    needs ENVOY, the program; Firefox; PYTHON, one with curl_cffi
## captures           bytes that the lab counts, compared with those that tcpdump captures; needs root
## heap               tests of what the lab counts on the heap; builds jemalloc
## firmware-peers     the images of firmware/ with all servers on this machine, and with OpenSSL 3.5 of Debian 13, which is fetched
## rp2350             the example for a board with an RP2350 builds; two minutes
## size-peers         clients on an emulated Cortex-M33, compared with rustls, embedded-tls, krabitls and wolfSSL; fetches and
##                    builds them; needs gcc-arm-none-eabi
## mutants            security checks changed one at a time: no change without a test that fails; hours; needs cargo-mutants
$(EVIDENCE):
	$(RUN_$@)

ml-kem: kem-timing kem-traces
evidence-ml-kem: evidence-kem-timing evidence-kem-traces

tlsfuzzer evidence-tlsfuzzer size-peers evidence-size-peers: program
program:
	$(CARGO) build --locked --package tessera-cli

## results            docs/results, measured again: more than four hours; needs root; goes on where it stopped; see scripts/results
results:
	scripts/results

## tls12              docs/results/tls12.json, measured again: cached handshakes of TLS 1.2; a minute or two; needs root
tls12:
	testing/tls12/run -m tls12.measure --json docs/results/tls12.json

## edge-peers         docs/results/edge-*.json, measured again: BoringSSL, and Go with Envoy; needs ENVOY, Go, cmake, libclang
edge-peers:
	bench/edge-peers

## edge-gap           docs/results/edge-gap.json, measured again: the gap of a handover per kind of client; a quarter of an
##                    hour; needs root, ENVOY, Firefox, and PYTHON, one with curl_cffi
edge-gap:
	ENVOY="$(ENVOY)" PYTHON="$(PYTHON)" bench/edge-gap

## deb                build the Debian package of the program, and check what is in it; needs cargo-deb
deb:
	scripts/deb

## clean              remove what was built
clean:
	$(CARGO) clean
