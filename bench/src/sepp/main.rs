//! What a relay through two of `tessera sepp` costs compared with two Envoys, and with two nghttpx: requests of network
//! functions over HTTP/2, mutual TLS 1.3 between the two.
//!
//! `sepp-relay BENCH [OPTIONS]`; see README.md. It fails if an aim is missed.

mod client;
mod ended;
mod envoy;
mod files;
mod idle;
mod network_function;
mod nghttpx;
mod options;
mod pair;
mod peers;
mod relay;
mod report;
mod request;
mod rules;
mod sepp;
mod setting;
mod tls_client;

use crate::options::{Bench, Options};

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.peek().map(String::as_str) == Some(network_function::ARGUMENT) {
        return network_function::run(arguments.nth(1));
    }
    let options = Options::from_arguments(arguments)?;
    let mut failures = Vec::new();
    for bench in &options.benches {
        let ran = match bench {
            Bench::Relay => relay::run(&options),
            Bench::Idle => idle::run(&options),
            Bench::Ended => ended::run(&options),
        };
        println!();
        failures.extend(ran.err().map(|failure| format!("{bench:?}: {failure}")));
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("; ").into()) }
}
