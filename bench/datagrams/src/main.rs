//! What an association costs either end: `datagram-cost [HANDSHAKES [ROUNDS]]`. See ../README.md.

use std::env;
use std::time::Duration;

use tessera_datagram_bench::{Cost, DatagramPair, DimplPair, Keys, StreamPair};
use tessera_interop::{KeyKind, Pki};

const RECORD: usize = 1_200 - 64;

fn main() {
    let mut numbers = env::args().skip(1).map_while(|argument| argument.parse::<usize>().ok());
    let (count, rounds) = (numbers.next().unwrap_or(100), numbers.next().unwrap_or(31));
    let keys = Keys::new();
    let pki = Pki::new();
    let identities = [pki.client(KeyKind::P256), pki.server(KeyKind::P256)];
    let identities = identities.each_ref();
    let (mut ours, _) = DatagramPair::connect(&keys);
    let (mut theirs, _) = DimplPair::connect(identities);
    let (data, mut buffer) = (vec![7; RECORD], Vec::new());
    let mut samples: [Vec<Cost>; 5] = Default::default();
    for _ in 0..rounds {
        // In turn, so that other load of the machine affects all of them.
        let costs = [
            sum((0..count).map(|_| StreamPair::connect(&keys)), count),
            sum((0..count).map(|_| DatagramPair::connect(&keys).1), count),
            sum((0..count).map(|_| DimplPair::connect(identities).1), count),
            average(ours.send(&data, count * 10, &mut buffer), count * 10),
            average(theirs.send(&data, count * 10), count * 10),
        ];
        for (samples, cost) in samples.iter_mut().zip(costs) {
            samples.push(cost);
        }
    }
    let [stream, datagram, dimpl, record, of_dimpl] = samples.map(|samples| {
        [
            median(samples.iter().map(|cost| cost.client)),
            median(samples.iter().map(|cost| cost.server)),
        ]
    });
    println!("{:<56} {:>8} {:>8}", "µs of processor time", "client", "server");
    for (name, [client, server]) in [
        ("full mutual handshake, pinned keys: our stream", stream),
        ("the same over datagrams, with a cookie", datagram),
        ("dimpl, with a cookie", dimpl),
        ("a record of 1,136 bytes: sent, and received", record),
        ("dimpl's", of_dimpl),
    ] {
        println!("{name:<56} {client:>8.2} {server:>8.2}");
    }
    for (name, ours, other) in [
        ("handshake, of our stream's", datagram, stream),
        ("handshake, of dimpl's", datagram, dimpl),
        ("record, of dimpl's", record, of_dimpl),
    ] {
        println!("{name:<56} {:>8.2} {:>8.2}", ours[0] / other[0], ours[1] / other[1]);
    }
    println!(
        "\nMedians of {rounds} rounds of {count} handshakes and {} records in turn.",
        count * 10
    );
}

fn sum(costs: impl Iterator<Item = Cost>, count: usize) -> Cost {
    let mut all = Cost::default();
    for cost in costs {
        all.client += cost.client;
        all.server += cost.server;
    }
    average(all, count)
}

fn average(cost: Cost, count: usize) -> Cost {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    Cost { client: cost.client / count, server: cost.server / count }
}

fn median(times: impl Iterator<Item = Duration>) -> f64 {
    let mut times: Vec<_> = times.map(|time| time.as_secs_f64() * 1e6).collect();
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}
