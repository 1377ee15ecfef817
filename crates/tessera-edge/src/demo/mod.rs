//! `tessera edge demo`: three proxies, a service at each, and a client that flies past.

mod service;
mod stage;
mod trace;

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use tessera_bindings::{BindingState, ClientName};
use tessera_kit::ProgramError;
pub use tessera_proxy::demo::DemoOptions;
use tessera_proxy::demo::{self, Trace, failed};
use tokio::time::{Instant, sleep};

#[cfg(test)]
pub(crate) use self::service::CountingService;
#[cfg(test)]
pub(crate) use self::stage::{Client, Received, proxy};
pub(crate) use self::stage::{ORIGIN, Stage, until};
use self::trace::{Actor, Outcome};

/// Runs three proxies of one origin. A client is moved from one to the next while it sends requests, and back. Prints what
/// happens to standard output, and ends by itself.
///
/// # Errors
/// If a request was lost or executed twice, if an arrival needed a round trip more, or if the demonstration can't be set up.
pub fn demo(options: &DemoOptions) -> Result<(), ProgramError> {
    demo::run(options, story)
}

/// The proxy at the origin's own address.
const FIRST: &str = "a";

/// Where the client flies.
const WAY: [&str; 4] = ["b", "c", "b", FIRST];

/// How many requests it sends at each.
const REQUESTS: usize = 3;

const SETTINGS: &str =
    "state = \"/state\"\n[clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n";

async fn story(trace: &Arc<Trace>) -> Result<Outcome, ProgramError> {
    let stage = Stage::start(&[FIRST, "b", "c"], SETTINGS).await?;
    trace.explain(&format!(
        "Three proxies of {ORIGIN}, each with an instance of a service that counts its clients' requests."
    ));
    let drone = stage.client(Some("drone.example"))?;
    let mut outcome = Outcome::default();
    let mut at = FIRST;
    let send = async |outcome: &mut Outcome, owner: &str, expected: &str| {
        let began = Instant::now();
        let received = drone.get("/").await.map_err(failed)?;
        outcome.requests += 1;
        let announced = received.field("alt-svc").to_owned();
        // Without an alternative, or after its time: to the proxy at the origin's address.
        let to = received.alternative.as_deref().unwrap_or(FIRST);
        let way = match to == owner {
            true => format!("to {to}"),
            false => format!("to {to}, which forwards it to {owner}"),
        };
        let what = format!("request {} {way}: answered in {:.1} ms", received.body, millis(began));
        let is_as_it_should_be =
            received.status == StatusCode::OK && received.body == outcome.requests.to_string();
        if !is_as_it_should_be || !announced.contains(&format!("{expected}.example")) {
            return Err(failed(format_args!(
                "request {} was answered {received:?}",
                outcome.requests
            )));
        }
        Ok((what, received.early, began.elapsed()))
    };
    for _ in 0..REQUESTS {
        let (what, ..) = send(&mut outcome, at, at).await?;
        trace.step(Actor::Drone, what);
    }
    let name = ClientName::new("dns:drone.example").map_err(failed)?;
    for next in WAY {
        trace.explain("");
        let took = stage.announce(&name, next).await?;
        trace.step(
            Actor::Orchestrator,
            format!(
                "moves the drone from {at} to {next}: prepared and announced in {:.1} ms",
                took.as_secs_f64() * 1e3
            ),
        );
        // Its keys, while it still talks to the earlier proxy.
        sleep(Duration::from_millis(50)).await;
        let (what, ..) = send(&mut outcome, at, next).await?;
        trace.step(Actor::Drone, format!("{what}, by a response that names {next}"));
        let (what, early, took) = send(&mut outcome, next, next).await?;
        outcome.arrivals += 1;
        outcome.early += u64::from(early > 0);
        let took = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        outcome.longest_arrival_millis = outcome.longest_arrival_millis.max(took);
        let flight = if early > 0 { "in its first flight" } else { "after a handshake" };
        trace.step(Actor::Drone, format!("{what}, {flight}"));
        at = next;
        for _ in 1..REQUESTS {
            let (what, ..) = send(&mut outcome, next, next).await?;
            trace.step(Actor::Drone, what);
        }
        let is_stable = || {
            let binding = stage.table.binding(&name);
            binding.is_some_and(|it| matches!(it.state, BindingState::Stable { .. }))
        };
        until("the move isn't settled", is_stable).await?;
        trace.step(
            Actor::Proxy,
            format!("{next} owns the drone: no announcement leads elsewhere any more"),
        );
    }
    let services = stage.proxies.values().map(|proxy| &proxy.service);
    outcome.executed = services.map(|service| service.executed().len() as u64).sum();
    outcome.remembered = stage.proxies[at].service.count("dns%3Adrone.example");
    stage.end().await?;
    Ok(outcome)
}

fn millis(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e3
}
