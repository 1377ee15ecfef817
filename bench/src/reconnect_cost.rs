//! What a server's engine pays for each way of reconnecting, with real cryptography and the embedded ring and vault:
//! `reconnect-cost HANDSHAKES ROUNDS`. See README.md.

use std::env;
use std::process::ExitCode;
use std::time::Duration;

use tessera_bench::{REQUEST, ResumedByRustls, Scene, WAYS};

/// The way that the others are compared with.
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
    let rustls = ResumedByRustls::new();
    let mut of_rustls = Vec::with_capacity(rounds);
    let mut samples = vec![Vec::with_capacity(rounds); WAYS.len()];
    for _ in 0..rounds {
        // In turn, so that other load of the machine affects all of them.
        of_rustls.push(rustls.round(handshakes).server);
        for (scene, samples) in scenes.iter().zip(&mut samples) {
            samples.push(scene.round(handshakes).server);
        }
    }
    println!(
        "{:<60} {:>8} {:>8} {:>8} {:>10} {:>16}",
        "server's engine, per connection", "µs", "ratio", "rustls", "of round", "rounds"
    );
    let baseline = median(&samples[BASELINE]);
    let rows = WAYS.iter().map(|way| way.name).zip(&samples);
    for (name, samples) in [("rustls: psk-dhe, hybrid", &of_rustls)].into_iter().chain(rows) {
        let time = median(samples);
        // Of the same round: other load of the machine affected both.
        let of_round = samples
            .iter()
            .zip(&of_rustls)
            .map(|(time, rustls)| time.as_secs_f64() / rustls.as_secs_f64());
        let mut of_round: Vec<_> = of_round.collect();
        of_round.sort_unstable_by(f64::total_cmp);
        let [least, most] =
            [samples.iter().min(), samples.iter().max()].map(|it| it.map_or(0.0, micros));
        println!(
            "{name:<60} {:>8.1} {:>8.2} {:>8.2} {:>10.2} {:>16}",
            micros(&time),
            micros(&time) / micros(&baseline),
            micros(&time) / micros(&median(&of_rustls)),
            of_round[of_round.len() / 2],
            format!("{least:.1}-{most:.1}"),
        );
    }
    println!(
        "\nProcessor time of one thread, medians of {rounds} rounds of {handshakes} connections in \
         turn;\nratios to psk-dhe, hybrid, and to rustls' own, of the medians and as the median of each \
         round's;\neach connection takes its one-time key where there is one, reads a request of {} bytes \
         (early\nwhere possible), and issues one new ticket.",
        REQUEST.len()
    );
    ExitCode::SUCCESS
}

fn median(samples: &[Duration]) -> Duration {
    let mut samples = samples.to_vec();
    samples.sort_unstable();
    samples[samples.len() / 2]
}

fn micros(time: &Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
