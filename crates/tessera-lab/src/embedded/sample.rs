//! Suites and KEMs for tests: invented figures, of a plausible order of magnitude. Nothing here was measured.

use serde_json::{Value, json};

use super::report::Report;

/// A suite, by its name, parts of the client's instructions in thousands (key exchange, chain, proof, protocol, AEAD) to first
/// data and then to the end, and the server's chain.
fn suite(name: [&str; 4], parts: [[u64; 5]; 2], chain: u32) -> Value {
    let [key_exchange, ca, leaf, mode] = name;
    let work = |[exchange, of_chain, proof, protocol, aead]: [u64; 5]| {
        let all = exchange + of_chain + proof + protocol + aead;
        json!({
            "instructions": all * 1000, "exchange": exchange * 1000, "chain": of_chain * 1000, "proof": proof * 1000,
            "aead": aead * 1000,
        })
    };
    let all = |parts: [u64; 5]| parts.iter().sum::<u64>() * 1000;
    let [first, explicit] = parts.map(all);
    let is_later = explicit > first;
    let start = parts[0][0] * 500;
    let (hello, answer, finished) =
        (if key_exchange.contains("KEM") { 1000 } else { 250 }, 120, 60);
    let flight = chain + answer;
    let mut steps = vec![
        json!({ "side": "client", "read": 0, "instructions": start, "sent": hello }),
        json!({ "side": "server", "read": hello, "instructions": 4_000_000, "sent": flight }),
        json!({ "side": "client", "read": flight, "instructions": first - start, "sent": finished }),
    ];
    if is_later {
        steps.push(
            json!({ "side": "server", "read": finished, "instructions": 1_000_000, "sent": 60 }),
        );
        steps.push(
            json!({ "side": "client", "read": 60, "instructions": explicit - first, "sent": 0 }),
        );
    }
    json!({
        "key_exchange": key_exchange, "ca": ca, "leaf": leaf, "mode": mode, "chain": chain,
        "client": { "sent": hello + finished, "stack": 9000, "heap": 5000 },
        "server": { "sent": flight + if is_later { 60 } else { 0 } },
        "first_data": work(parts[0]), "explicit": work(parts[1]),
        "steps": steps, "first_data_step": 2, "explicit_step": if is_later { 4 } else { 2 },
    })
}

/// Adds suites and KEMs to a document.
pub(super) fn with_suites(mut document: Value) -> Value {
    let same = |parts: [u64; 5]| [parts; 2];
    let kem = |parts: [u64; 5]| {
        let [exchange, chain, proof, protocol, aead] = parts;
        [parts, [exchange, chain, proof, protocol + 150, aead + 20]]
    };
    let with = |exchange, ca, leaf| [exchange, ca, leaf, "server"];
    let rows = json!([
        suite(with("X25519", "Ed25519", "Ed25519"), same([2600, 2700, 1300, 350, 50]), 600),
        suite(
            with("ML-KEM-512", "Falcon-512", "Falcon-512"),
            same([1400, 1300, 650, 380, 150]),
            3600
        ),
        suite(
            with("ML-KEM-512", "Falcon-512", "ML-KEM-512"),
            kem([1400, 1300, 700, 400, 120]),
            3400
        ),
        suite(
            with("one-time ML-KEM-512", "Falcon-512", "ML-KEM-512"),
            kem([800, 1300, 700, 400, 120]),
            3400
        ),
        suite(
            with("ML-KEM-512", "Falcon-512", "ML-DSA-44"),
            same([1400, 1300, 2000, 400, 250]),
            4000
        ),
        suite(
            with("ML-KEM-512", "ML-DSA-44", "ML-DSA-44"),
            same([1400, 4000, 2000, 420, 400]),
            8000
        ),
        suite(
            with("one-time ML-KEM-512", "ML-DSA-44", "ML-DSA-44"),
            same([800, 4000, 2000, 420, 400]),
            8000
        ),
        suite(
            with("ML-KEM-512", "ML-DSA-44", "ML-KEM-512"),
            kem([1400, 4000, 700, 410, 350]),
            7500
        ),
        suite(["ML-KEM-768", "none", "ML-KEM-768", "known key"], same([2200, 0, 1100, 400, 30]), 0),
        suite(
            ["one-time ML-KEM-768", "none", "ML-KEM-768", "known key"],
            same([1200, 0, 1100, 400, 30]),
            0
        ),
        suite(["X25519", "none", "Ed25519", "raw key"], same([2600, 0, 1300, 330, 30]), 0),
    ]);
    document["suites"] = json!([
        { "opt_level": "3", "rows": rows },
        { "opt_level": "s", "rows": [suite(with("X25519", "Ed25519", "Ed25519"), same([2900, 2900, 1400, 400, 60]), 600)] },
    ]);
    let operation = |implementation,
                     set,
                     construction,
                     operation,
                     instructions: u64,
                     stack: u32| {
        json!({
            "implementation": implementation, "opt_level": "3", "set": set, "construction": construction,
            "operation": operation, "instructions": instructions, "stack": stack,
        })
    };
    let ours = |set, construction, of, instructions, stack| {
        operation("tessera-kem", set, construction, of, instructions, stack)
    };
    document["kems"] = json!([
        ours("ML-KEM-512", "ML-KEM", "key pair", 600_000, 6000),
        ours("ML-KEM-512", "ML-KEM", "encapsulate", 650_000, 7000),
        ours("ML-KEM-512", "ML-KEM", "decapsulate", 800_000, 8000),
        ours("ML-KEM-512", "T_H", "encapsulate", 702_000, 7000),
        ours("ML-KEM-512", "T_H", "decapsulate", 200_000, 3600),
        ours("ML-KEM-768", "ML-KEM", "decapsulate", 1_300_000, 11_500),
        ours("ML-KEM-768", "T_H", "decapsulate", 520_000, 6000),
        operation("libcrux", "ML-KEM-512", "ML-KEM", "key pair", 500_000, 16_000),
        operation("libcrux", "ML-KEM-512", "ML-KEM", "encapsulate", 650_000, 15_000),
    ]);
    document
}

/// A report with them.
pub(super) fn report() -> Report {
    Report::parse(&with_suites(super::tests::document()).to_string()).unwrap()
}
