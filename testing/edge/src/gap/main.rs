//! The gap of a handover, per kind of client: from the response that announces the next proxy to the first request that is
//! executed there, and how long the client was without an answer. `bench/edge-gap` starts it.
//!
//! ```text
//!   client ────── emulated link ────── relays ── proxies a, b ── services
//! ```
//!
//! The client is at one end of the link, in a network namespace of its own, and all else at the other. The link delays
//! packets, those of TCP's handshake too.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a measurement that fails ends")]

mod client;
mod handover;
mod kind;
mod report;
mod stage;

use std::process::ExitCode;
use std::sync::Arc;

use tessera_link::{End, Link, LinkKind, LinkParameters};
use tokio::runtime::Builder;

use self::kind::{Kind, PoolKind};
use self::report::{Cell, Report};
use self::stage::Stage;

/// The options.
struct Options {
    json: String,
    revision: Option<String>,
    /// How many handovers of each client, and of each browser.
    repetitions: usize,
    browsers: usize,
    rtts: Vec<f64>,
    /// Only clients whose name begins so.
    only: String,
}

const USAGE: &str = "edge-gap --json FILE [--revision TEXT] [--repetitions N] [--browsers N] [--rtts MS,MS] [--only NAME]";

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    // Before any other thread.
    let entered = tessera_link::enter_user_namespace_if_needed();
    let link = entered.and_then(|_| Link::open(LinkKind::Tun, &LinkParameters::default()));
    let link = match link {
        Ok(link) => Arc::new(link),
        Err(error) => {
            eprintln!("edge-gap: there is no emulated link: {error}");
            return ExitCode::from(2);
        }
    };
    let json = options.json.clone();
    let runtime =
        |threads| Builder::new_multi_thread().worker_threads(threads).enable_all().build();
    let clients = link.spawn_thread(End::Client, move || runtime(1)).unwrap();
    let clients = clients.join().unwrap().unwrap();
    let (handle, this) = (clients.handle().clone(), link.clone());
    let measuring = link.spawn_thread(End::Server, move || {
        runtime(2).unwrap().block_on(measure(&options, this, handle))
    });
    // It has printed what failed.
    let Ok(report) = measuring.unwrap().join() else { return ExitCode::FAILURE };
    clients.shutdown_background();
    report.write(&json);
    ExitCode::SUCCESS
}

async fn measure(options: &Options, link: Arc<Link>, clients: tokio::runtime::Handle) -> Report {
    let mut report = Report::begin(options.revision.clone());
    let mut stage = Stage::start(link, clients).await;
    for rtt_ms in &options.rtts {
        stage.delay(*rtt_ms);
        for kind in Kind::ALL.into_iter().filter(|it| it.name().starts_with(&options.only)) {
            for pool in PoolKind::ALL.into_iter().filter(|pool| kind.visits(*pool)) {
                let count = if kind.is_browser() { options.browsers } else { options.repetitions };
                let mut cell = Cell::new(kind, pool, *rtt_ms);
                for number in 0..count {
                    let prefix = format!("{}-{}-{rtt_ms}-{number}", kind.name(), pool.name());
                    cell.handovers.push(stage.hand_over(kind, pool, &prefix).await);
                }
                println!("{cell}");
                report.cells.push(cell);
            }
        }
    }
    report
}

fn options() -> Option<Options> {
    let mut options = Options {
        json: String::new(),
        revision: None,
        repetitions: 20,
        browsers: 10,
        rtts: vec![0.0, 33.0],
        only: String::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next()?;
        match word.as_str() {
            "--json" => options.json = value,
            "--revision" => options.revision = Some(value).filter(|it| !it.is_empty()),
            "--repetitions" => options.repetitions = value.parse().ok()?,
            "--browsers" => options.browsers = value.parse().ok()?,
            "--rtts" => {
                options.rtts = value.split(',').map(str::parse).collect::<Result<_, _>>().ok()?;
            }
            "--only" => options.only = value,
            _ => return None,
        }
    }
    (!options.json.is_empty() && options.repetitions > 0 && options.browsers > 0).then_some(options)
}
