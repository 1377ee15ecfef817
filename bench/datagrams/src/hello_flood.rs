//! What ClientHellos of strangers cost a server, and how long clients wait in a flood of them:
//! `hello-flood [HELLOS [SECONDS]]`. See ../README.md.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::time::Duration;

use allocation_counter::measure;
use tessera::{ClientAssociation, Time};
use tessera_datagram_bench::server::{Server, after, path};
use tessera_datagram_bench::{Cost, read};

fn main() {
    let mut numbers = env::args().skip(1).map_while(|argument| argument.parse::<u32>().ok());
    let (count, seconds) = (numbers.next().unwrap_or(100_000), numbers.next().unwrap_or(10));
    println!("{:<56} {:>8} {:>12} {:>8}", "a ClientHello", "p50, µs", "mean, µs", "left, B");
    for kind in Kind::ALL {
        let mut server = Server::new(1000);
        let mut spoofer = Spoofer::new(kind, &mut server);
        let mut samples = Vec::with_capacity(count as usize);
        let left = measure(|| {
            for _ in 0..count {
                samples.push(spoofer.send(&mut server));
            }
        });
        assert!(server.endpoint.is_empty());
        samples.sort_unstable();
        let mean = samples.iter().sum::<Duration>() / count;
        let (p50, left) = (micros(samples[samples.len() / 2]), left.bytes_current);
        println!("{:<56} {p50:>8.2} {:>12.2} {left:>8}", kind.name(), micros(mean));
    }
    println!();
    println!(
        "{:<56} {:>8} {:>12} {:>8}",
        "an honest client's handshake, ms", "p50", "p99", "worst"
    );
    for rate in [0, FLOOD] {
        let mut waits = honest_waits(rate, seconds);
        waits.sort_unstable();
        let at = |part: usize| waits[(waits.len() * part / 100).min(waits.len() - 1)];
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        let name = format!("with {rate} spoofed hellos a second");
        let (p50, p99, worst) = (millis(at(50)), millis(at(99)), millis(at(100)));
        println!("{name:<56} {p50:>8.3} {p99:>12.3} {worst:>8.3}");
    }
    println!(
        "\n{HONEST} honest clients a second for {seconds} s of virtual time; one server thread."
    );
}

/// Spoofed ClientHellos a second.
const FLOOD: u32 = 50_000;

/// Honest clients a second.
const HONEST: u32 = 100;

/// What spoofed datagrams are.
#[derive(Clone, Copy)]
enum Kind {
    WithoutCookie,
    ForgedCookie,
    FirstPart,
}

impl Kind {
    const ALL: [Self; 3] = [Self::WithoutCookie, Self::ForgedCookie, Self::FirstPart];

    fn name(self) -> &'static str {
        match self {
            Self::WithoutCookie => "without a cookie: answered with a HelloRetryRequest",
            Self::ForgedCookie => "with a cookie of another address: dropped",
            Self::FirstPart => "its first half: kept in the pool",
        }
    }
}

/// Sends one datagram from ever new addresses.
struct Spoofer {
    datagram: Vec<u8>,
    number: u32,
}

impl Spoofer {
    fn new(kind: Kind, server: &mut Server) -> Self {
        let now = after(Duration::ZERO);
        let mut client = server.client(now);
        let mut datagram = Vec::new();
        client.transmit(now, &mut datagram);
        match kind {
            Kind::WithoutCookie => (),
            Kind::ForgedCookie => {
                server.deliver(now, path(0), &mut datagram);
                datagram.clear();
                server.endpoint.transmit(now, &mut datagram);
                read(&mut client, now, &mut datagram);
                datagram.clear();
                client.transmit(now, &mut datagram);
            }
            Kind::FirstPart => datagram = first_half(&datagram),
        }
        Self { datagram, number: 0 }
    }

    /// Returns what the server's engine took.
    fn send(&mut self, server: &mut Server) -> Duration {
        let mut spent = Duration::ZERO;
        let now = after(Duration::ZERO);
        let mut answer = Vec::with_capacity(1500);
        self.number = self.number % (1 << 23) + 1;
        let from = path(self.number);
        Cost::time(&mut spent, || {
            server.deliver(now, from, &mut self.datagram);
            while server.endpoint.transmit(now, &mut answer).is_some() {
                answer.clear();
            }
        });
        spent
    }
}

/// Cuts the message of a datagram with one record and one fragment in half.
fn first_half(datagram: &[u8]) -> Vec<u8> {
    const HEADERS: usize = 13 + 12;
    let half = (datagram.len() - HEADERS) / 2;
    let mut part = datagram[..HEADERS + half].to_vec();
    part[11..13].copy_from_slice(&(half as u16 + 12).to_be_bytes());
    part[22..25].copy_from_slice(&(half as u32).to_be_bytes()[1..]);
    part
}

/// Runs honest handshakes among spoofed hellos; returns how long each took. The server handles datagrams one after the
/// other, each for as long as its thread took; clients have a processor each, and the network no delay.
fn honest_waits(flood: u32, seconds: u32) -> Vec<Duration> {
    let mut server = Server::new(1_000_000);
    let mut spoofer = Spoofer::new(Kind::WithoutCookie, &mut server);
    let mut arrivals = Arrivals::default();
    let every = |rate: u32| Duration::from_secs(1) / rate.max(1);
    for number in 0..flood * seconds {
        arrivals.add(every(flood) * number, Arrival::Spoofed);
    }
    let mut clients = BTreeMap::new();
    for number in 0..HONEST * seconds {
        // Not in step with the flood.
        let begins = every(HONEST) * number + Duration::from_nanos(u64::from(number) * 7919);
        let mut client = server.client(after(begins));
        let mut datagram = Vec::new();
        client.transmit(after(begins), &mut datagram);
        clients.insert(number, (begins, client));
        arrivals.add(begins, Arrival::Honest(number, datagram));
    }
    let (mut idle_from, mut waits) = (Duration::ZERO, Vec::new());
    while let Some((at, arrival)) = arrivals.next() {
        let begins = at.max(idle_from);
        match arrival {
            Arrival::Spoofed => idle_from = begins + spoofer.send(&mut server),
            Arrival::Honest(number, mut datagram) => {
                let (mut spent, from) = (Duration::ZERO, path((1 << 23) + 1 + number));
                let mut answers = Vec::new();
                Cost::time(&mut spent, || {
                    server.deliver(after(begins), from, &mut datagram);
                    let mut answer = Vec::new();
                    while server.endpoint.transmit(after(begins), &mut answer).is_some() {
                        answers.push(std::mem::take(&mut answer));
                    }
                });
                idle_from = begins + spent;
                let Some((began, client)) = clients.get_mut(&number) else { continue };
                let sent = answer_of(client, answers, after(idle_from));
                for (datagram, spent) in sent {
                    arrivals.add(idle_from + spent, Arrival::Honest(number, datagram));
                }
                if client.facts().handshake_complete && client.is_acknowledged() {
                    waits.push(idle_from - *began);
                    clients.remove(&number);
                }
            }
        }
    }
    assert!(clients.is_empty(), "{} handshakes are incomplete", clients.len());
    waits
}

/// Returns what a client answers, and how long after it got the server's datagrams.
fn answer_of(
    client: &mut ClientAssociation,
    datagrams: Vec<Vec<u8>>,
    at: Time,
) -> Vec<(Vec<u8>, Duration)> {
    let (mut spent, mut sent) = (Duration::ZERO, Vec::new());
    for mut datagram in datagrams {
        Cost::time(&mut spent, || read(client, at, &mut datagram));
    }
    let mut datagram = Vec::new();
    while Cost::time(&mut spent, || client.transmit(at, &mut datagram)) {
        sent.push((std::mem::take(&mut datagram), spent));
    }
    sent
}

enum Arrival {
    Spoofed,
    Honest(u32, Vec<u8>),
}

/// What arrives at the server, in order.
#[derive(Default)]
struct Arrivals {
    order: BTreeSet<(Duration, usize)>,
    all: Vec<Option<Arrival>>,
}

impl Arrivals {
    fn add(&mut self, at: Duration, arrival: Arrival) {
        self.order.insert((at, self.all.len()));
        self.all.push(Some(arrival));
    }

    fn next(&mut self) -> Option<(Duration, Arrival)> {
        let (at, index) = self.order.pop_first()?;
        Some((at, self.all[index].take()?))
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
