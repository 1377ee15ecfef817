//! What an end saves by knowing its peer's chain, and what it costs if the chain never returns: processor
//! time of one side of full handshakes. `cargo bench -p tessera-webpki --bench known_chains`, with
//! `-- HANDSHAKES ROUNDS` for other numbers; bench/README.md has results. With `-- SIDE KEYS WAY HANDSHAKES` it
//! only makes handshakes, for bench/known-chains-cost.
// It runs on a developer's machine, where a panic is a sufficient error message.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "known_chains/ends.rs"]
mod ends;
#[path = "known_chains/pki.rs"]
mod pki;

use std::env;

use tessera::wire::NamedGroup;

use ends::{Ends, Side, Way};
use pki::{Keys, Pki};

fn main() {
    // Cargo adds `--bench`.
    let arguments: Vec<String> = env::args().skip(1).filter(|it| it != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => run(100, 31),
        [handshakes, rounds] => {
            run(handshakes.parse().unwrap(), rounds.parse::<usize>().unwrap().max(1));
        }
        [side, keys, way, handshakes] => {
            let pki = Pki::new(keys.parse().unwrap(), 3);
            let (side, way) = (side.parse().unwrap(), way.parse().unwrap());
            Ends::new(&pki, side, way, NamedGroup::X25519).round(handshakes.parse().unwrap());
        }
        _ => panic!("HANDSHAKES ROUNDS, or SIDE KEYS WAY HANDSHAKES"),
    }
}

fn run(handshakes: usize, rounds: usize) {
    let handshakes = handshakes.max(2);
    println!(
        "{:<7} {:<16} {:<9} {:>5} {:>9} {:>9} {:>7} {:>9} {:>7}",
        "µs of", "group", "keys", "chain", "judged", "known", "ratio", "unknown", "ratio"
    );
    for group in [NamedGroup::X25519, NamedGroup::X25519MLKEM768] {
        for len in 1..=4 {
            row(Side::Client, Keys::P256, len, group, handshakes, rounds);
        }
    }
    for (side, keys) in
        [(Side::Server, Keys::P256), (Side::Client, Keys::Rsa2048), (Side::Server, Keys::Rsa2048)]
    {
        row(side, keys, 3, NamedGroup::X25519, handshakes, rounds);
    }
    println!(
        "\nProcessor time of one thread in one end's engine, medians of {rounds} rounds of {handshakes} full\n\
         handshakes in turn, and of the rounds' ratios. The client's: without client certificates. The server's:\n\
         with them, as long as its own. Chain: certificates that the peer sends, the root not among them.\n\
         Judged: WebPkiVerifier. Known: KnownChains, each time. Unknown: never, because its store is too small."
    );
}

fn row(side: Side, keys: Keys, len: usize, group: NamedGroup, handshakes: usize, rounds: usize) {
    let pki = Pki::new(keys, len);
    let ways = [Way::Judged, Way::Known, Way::Unknown].map(|way| Ends::new(&pki, side, way, group));
    let mut samples = [const { Vec::new() }; 3];
    for _ in 0..rounds {
        // Interleaved, so that other load on the machine affects all equally.
        for (ends, samples) in ways.iter().zip(&mut samples) {
            samples.push(ends.round(handshakes).as_secs_f64() * 1e6 / handshakes as f64);
        }
    }
    let [judged, known, unknown] = samples;
    let ratio = |samples: &[f64]| {
        median(samples.iter().zip(&judged).map(|(one, judged)| one / judged).collect())
    };
    println!(
        "{side:<7} {:<16} {keys:<9} {len:>5} {:>9.1} {:>9.1} {:>7.2} {:>9.1} {:>7.3}",
        if group == NamedGroup::X25519 { "X25519" } else { "X25519MLKEM768" },
        median(judged.clone()),
        median(known.clone()),
        ratio(&known),
        median(unknown.clone()),
        ratio(&unknown),
    );
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_unstable_by(f64::total_cmp);
    samples[samples.len() / 2]
}
