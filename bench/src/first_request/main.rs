//! How long a request takes to the application, on a new connection each: a pooled client of hyper-util against
//! `axum::serve`, over Tessera and over tokio-rustls, both resumed.
//!
//! `first-request [ROUNDS [RTT_MS]]`; see README.md. It fails if Tessera's requests are not a round trip
//! earlier.

mod client;
mod server;

use std::env;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tessera_interop::{KeyKind, Pki};
use tessera_link::{End, Link, LinkKind, LinkParameters};

use crate::client::Client;
use crate::server::{Arrivals, serve};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Whose TLS it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tls {
    Rustls,
    Tessera,
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Way {
    tls: Tls,
    /// HTTP/2, and not HTTP/1.1.
    h2: bool,
}

const WAYS: [Way; 4] = [
    Way { tls: Tls::Rustls, h2: false },
    Way { tls: Tls::Tessera, h2: false },
    Way { tls: Tls::Rustls, h2: true },
    Way { tls: Tls::Tessera, h2: true },
];

fn main() -> Result<(), Failure> {
    // Before any other thread.
    tessera_link::enter_user_namespace_if_needed()?;
    let mut arguments = env::args().skip(1).map(|argument| argument.parse::<u64>());
    let rounds = arguments.next().transpose()?.unwrap_or(35);
    let rtt = Duration::from_millis(arguments.next().transpose()?.unwrap_or(33));
    let link = Link::open(LinkKind::Tun, &LinkParameters { rtt, ..LinkParameters::default() })?;
    let (pki, arrivals) = (Arc::new(Pki::new()), Arrivals::default());

    let identity = pki.server(KeyKind::P256);
    let (at, seen) = (link.addresses().server, arrivals.clone());
    let (started, addresses) = std::sync::mpsc::channel();
    link.spawn_thread(End::Server, move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let run = |runtime: tokio::runtime::Runtime| {
            runtime.block_on(serve(at, &identity, seen, |addresses| {
                let _ = started.send(addresses);
            }))
        };
        if let Err(error) = runtime.map_err(Into::into).and_then(run) {
            eprintln!("the server: {error}");
        }
    })?;
    let addresses: [SocketAddr; 2] = addresses.recv()?;

    let measuring =
        link.spawn_thread(End::Client, move || -> Result<Vec<Vec<Duration>>, Failure> {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(measure(&pki, addresses, &arrivals, rounds))
        })?;
    let times = measuring.join().map_err(|_| "the client panicked")??;
    report(times, rounds, rtt)
}

/// Measures all ways. They take turns, so that a machine that becomes slower affects all of them.
async fn measure(
    pki: &Pki,
    [rustls, tessera]: [SocketAddr; 2],
    arrivals: &Arrivals,
    rounds: u64,
) -> Result<Vec<Vec<Duration>>, Failure> {
    let mut clients = Vec::new();
    for way in WAYS {
        let to = if way.tls == Tls::Tessera { tessera } else { rustls };
        clients.push(Client::new(way, pki, to)?);
    }
    let mut times = vec![Vec::new(); WAYS.len()];
    // The first round has no session yet.
    for round in 0..=rounds {
        for (client, times) in clients.iter().zip(&mut times) {
            let time = client.ask(arrivals, round > 0).await?;
            if round > 0 {
                times.push(time);
            }
        }
    }
    Ok(times)
}

fn report(times: Vec<Vec<Duration>>, rounds: u64, rtt: Duration) -> Result<(), Failure> {
    println!(
        "ms until a request is at the application, each in a new connection; {rounds} rounds, \
         round trip {} ms",
        rtt.as_millis()
    );
    println!("\n| way | median | p90 | round trips before tokio-rustls |\n|---|---|---|---|");
    let mut before = Duration::ZERO;
    let mut late = Vec::new();
    for (way, mut times) in WAYS.iter().zip(times) {
        times.sort_unstable();
        let at = |percent: usize| times.get(times.len() * percent / 100).copied();
        let (median, p90) = (at(50).unwrap_or_default(), at(90).unwrap_or_default());
        let http = if way.h2 { "HTTP/2" } else { "HTTP/1.1" };
        let (name, saved) = match way.tls {
            Tls::Rustls => {
                before = median;
                ("tokio-rustls, resumed", String::new())
            }
            Tls::Tessera => {
                let saved = before.as_secs_f64() - median.as_secs_f64();
                let trips = saved / rtt.as_secs_f64();
                // Processor time can't account for a round trip.
                if trips < 0.9 {
                    late.push(http);
                }
                ("Tessera, first flight", format!("{trips:.2}"))
            }
        };
        println!("| {http}, {name} | {:.2} | {:.2} | {saved} |", millis(median), millis(p90));
    }
    if late.is_empty() { Ok(()) } else { Err(format!("not a round trip before: {late:?}").into()) }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
