//! What a server's engine pays for each way of coming back, with real cryptography and the embedded
//! ring and vault: `reconnect-cost HANDSHAKES ROUNDS`. See README.md.

use std::env;
use std::process::ExitCode;

use tessera_bench::{REQUEST, Scene, WAYS};

/// What the others are compared with.
const BASELINE: usize = 0;

fn main() -> ExitCode {
    let numbers: Option<Vec<usize>> =
        env::args().skip(1).map(|argument| argument.parse().ok()).collect();
    let (handshakes, rounds) = match numbers.as_deref() {
        Some([]) => (300, 15),
        Some([handshakes, rounds]) if *handshakes > 0 && *rounds > 0 => (*handshakes, *rounds),
        _ => {
            eprintln!("usage: reconnect-cost [HANDSHAKES ROUNDS]");
            return ExitCode::from(2);
        }
    };
    let scenes: Vec<_> = WAYS.iter().map(|way| Scene::new(way, None)).collect();
    let mut samples = vec![Vec::with_capacity(rounds); WAYS.len()];
    for _ in 0..rounds {
        // In turn, so that what else the machine does meets all of them.
        for (scene, samples) in scenes.iter().zip(&mut samples) {
            samples.push(scene.round(handshakes).server);
        }
    }
    let medians: Vec<_> = samples
        .into_iter()
        .map(|mut samples| {
            samples.sort_unstable();
            samples[samples.len() / 2]
        })
        .collect();
    println!("{:<60} {:>12} {:>8}", "server's engine, per connection", "µs", "ratio");
    for (way, median) in WAYS.iter().zip(&medians) {
        let ratio = median.as_secs_f64() / medians[BASELINE].as_secs_f64();
        println!("{:<60} {:>12.1} {:>8.2}", way.name, median.as_secs_f64() * 1e6, ratio);
    }
    println!(
        "\nProcessor time of one thread, medians of {rounds} rounds of {handshakes} connections in \
         turn;\neach connection takes its one-time key where there is one, reads a request of {} bytes \
         (early\nwhere possible), and issues one new ticket.",
        REQUEST.len()
    );
    ExitCode::SUCCESS
}
