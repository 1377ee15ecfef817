//! What either end's engine pays for each way of connecting, compared with rustls: `reconnect-cost [HANDSHAKES
//! ROUNDS [PART]]`, where PART is a part of the names of the ways to run (for a profiler). See README.md.

use std::env;
use std::process::ExitCode;
use std::time::Duration;

use tessera_handshake_bench::{Cost, REQUEST, RustlsScene, RustlsWay, Scene, WAYS};

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let mut number = |default| arguments.next().map_or(Some(default), |number| number.parse().ok());
    let (Some(handshakes @ 1..), Some(rounds @ 1..)) = (number(100), number(31)) else {
        eprintln!("usage: reconnect-cost [HANDSHAKES ROUNDS [PART]]");
        return ExitCode::from(2);
    };
    let part = arguments.next().unwrap_or_default();
    if arguments.next().is_some() || !WAYS.iter().any(|way| way.name.contains(&part)) {
        eprintln!("reconnect-cost: no way has {part:?} in its name, or too many arguments");
        return ExitCode::from(2);
    }
    let rustls_ways: Vec<_> =
        RustlsWay::ALL.into_iter().filter(|way| way.name().contains(&part)).collect();
    let ways: Vec<_> = WAYS.iter().filter(|way| way.name.contains(&part)).collect();
    let theirs: Vec<_> = rustls_ways.iter().copied().map(RustlsScene::new).collect();
    let ours: Vec<_> = ways.iter().map(|way| Scene::new(way, None)).collect();
    let mut of_theirs = vec![Vec::with_capacity(rounds); theirs.len()];
    let mut of_ours = vec![Vec::with_capacity(rounds); ours.len()];
    for _ in 0..rounds {
        // In turn, so that other load of the machine affects all of them.
        for (scene, samples) in theirs.iter().zip(&mut of_theirs) {
            samples.push(scene.round(handshakes));
        }
        for (scene, samples) in ours.iter().zip(&mut of_ours) {
            samples.push(scene.round(handshakes));
        }
    }
    println!(
        "{:<60} {:>9} {:>8} {:>9} {:>8} {:>8}",
        "µs per connection", "server", "rustls/", "client", "rustls/", "ahead"
    );
    for (way, samples) in rustls_ways.iter().zip(&of_theirs) {
        let [server, client] = [server, client].map(|end| micros(median(samples.iter().map(end))));
        println!("{:<60} {server:>9.1} {:>8} {client:>9.1} {:>8} {:>8}", way.name(), "", "", "");
    }
    for (way, samples) in ways.iter().zip(&of_ours) {
        let rustls = rustls_ways.iter().zip(&of_theirs).find(|(it, _)| **it == way.of);
        let [server, client] = [server, client].map(|end| {
            // Of the same round: other load of the machine affected both.
            let ratio = |(theirs, ours): (&Cost, &Cost)| end(theirs).div_duration_f64(end(ours));
            let rustls = rustls.map_or(&[][..], |(_, rustls)| rustls);
            let mut ratios: Vec<_> = rustls.iter().zip(samples).map(ratio).collect();
            ratios.sort_unstable_by(f64::total_cmp);
            let ratio = ratios.get(ratios.len() / 2);
            let ratio = ratio.map_or(String::new(), |ratio| format!("{ratio:.2}"));
            (micros(median(samples.iter().map(end))), ratio)
        });
        let ahead = match way.ahead {
            true => format!("{:.1}", micros(median(samples.iter().map(|cost| cost.ahead)))),
            false => String::new(),
        };
        println!(
            "{:<60} {:>9.1} {:>8} {:>9.1} {:>8} {ahead:>8}",
            way.name, server.0, server.1, client.0, client.1,
        );
    }
    println!(
        "\nProcessor time of one thread in each end's engine, medians of {rounds} rounds of {handshakes} connections in turn;\n\
         rustls/: its time over ours, the median of each round's, in the same kind of handshake (psk-only and 0rtt-fs: psk-dhe,\n\
         hybrid). ahead: what key pairs made before the connection took, for both ends. Each connection takes its one-time key\n\
         where there is one, sends a request of {} bytes (early where possible), and gets one new ticket.",
        REQUEST.len()
    );
    ExitCode::SUCCESS
}

fn server(cost: &Cost) -> Duration {
    cost.server
}

fn client(cost: &Cost) -> Duration {
    cost.client
}

fn median(samples: impl Iterator<Item = Duration>) -> Duration {
    let mut samples: Vec<_> = samples.collect();
    samples.sort_unstable();
    samples[samples.len() / 2]
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
