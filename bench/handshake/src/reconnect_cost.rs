//! What either end's engine pays for each way of connecting, compared with rustls: `reconnect-cost [HANDSHAKES
//! ROUNDS [PART]]`, where PART is a part of the names of the ways to run (for a profiler). See README.md.

use std::env;
use std::process::ExitCode;
use std::time::Duration;

use tessera_handshake_bench::{Cost, REQUEST, RustlsScene, RustlsWay, Scene, TimedScene, WAYS};

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
    let timed: Vec<_> = ways.iter().copied().map(TimedScene::new).collect();
    let mut of_theirs = vec![Vec::with_capacity(rounds); theirs.len()];
    let mut of_ours = vec![Vec::with_capacity(rounds); ours.len()];
    let mut of_primitives = vec![Vec::with_capacity(rounds * handshakes); timed.len()];
    for _ in 0..rounds {
        // In turn, so that other load of the machine affects all of them.
        for (scene, samples) in theirs.iter().zip(&mut of_theirs) {
            samples.push(scene.round(handshakes));
        }
        for (scene, samples) in ours.iter().zip(&mut of_ours) {
            samples.push(scene.round(handshakes));
        }
        for (scene, samples) in timed.iter().zip(&mut of_primitives) {
            samples.extend(scene.round(handshakes));
        }
    }
    let heads = ["server", "client"]
        .map(|end| format!("{end:>9} {:>8} {:>10} {:>6}", "rustls/", "primitives", "limit"));
    println!("{:<60} {} {:>8}", "µs per connection", heads.join(" "), "ahead");
    for (way, samples) in rustls_ways.iter().zip(&of_theirs) {
        let ends = [server, client].map(|end| {
            let time = micros(median(samples.iter().map(end)));
            format!("{time:>9.1} {:>8} {:>10} {:>6}", "", "", "")
        });
        println!("{:<60} {}", way.name(), ends.join(" ").trim_end());
    }
    for ((way, samples), primitives) in ways.iter().zip(&of_ours).zip(&of_primitives) {
        let rustls = rustls_ways.iter().zip(&of_theirs).find(|(it, _)| **it == way.rustls);
        let rustls = rustls.map_or(&[][..], |(_, rustls)| rustls);
        let ends = [server, client].map(|end| columns(end, samples, rustls, primitives));
        let ahead = match way.ahead {
            true => format!("{:.1}", micros(median(samples.iter().map(|cost| cost.ahead)))),
            false => String::new(),
        };
        println!("{:<60} {} {ahead:>8}", way.name, ends.join(" "));
    }
    println!(
        "\nProcessor time of one thread in each end's engine, medians of {rounds} rounds of {handshakes} connections in turn;\n\
         rustls/: its time over ours, the median of each round's, in the same kind of handshake (psk-only and 0rtt-fs: psk-dhe,\n\
         hybrid). primitives: the operations of provider, key, verifier and stores alone, the median of connections of their\n\
         own; limit: rustls' time over that, which an engine without work of its own would reach. ahead: what key pairs made\n\
         before the connection took, for both ends. Each connection takes its one-time key where there is one, sends a request\n\
         of {} bytes (early where possible), and gets one new ticket.",
        REQUEST.len()
    );
    ExitCode::SUCCESS
}

/// Returns an end's columns.
fn columns(
    end: fn(&Cost) -> Duration,
    ours: &[Cost],
    rustls: &[Cost],
    primitives: &[Cost],
) -> String {
    // Of the same round: other load of the machine affected both.
    let ratio = |(theirs, ours): (&Cost, &Cost)| end(theirs).div_duration_f64(end(ours));
    let mut ratios: Vec<_> = rustls.iter().zip(ours).map(ratio).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let primitives = median(primitives.iter().map(end));
    let (mut ratio, mut limit) = (String::new(), String::new());
    if let Some(of_rounds) = ratios.get(ratios.len() / 2) {
        let of_primitives = median(rustls.iter().map(end)).div_duration_f64(primitives);
        (ratio, limit) = (format!("{of_rounds:.2}"), format!("{of_primitives:.2}"));
    }
    let time = micros(median(ours.iter().map(end)));
    format!("{time:>9.1} {ratio:>8} {:>10.1} {limit:>6}", micros(primitives))
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
