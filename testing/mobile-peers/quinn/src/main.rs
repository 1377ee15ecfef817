//! quinn's QUIC as a peer of `tessera lab dtls`; `../README.md` has the contract.
#![forbid(unsafe_code)]

mod arguments;
mod client;
mod configs;
mod interfaces;
mod report;
mod server;

use std::process::ExitCode;

use crate::arguments::Role;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let role = match arguments::parse(std::env::args().skip(1)) {
        Ok(role) => role,
        Err(error) => {
            eprintln!("quinn-peer: {error}");
            return ExitCode::from(2);
        }
    };
    let result = match role {
        Role::Server(options) => server::run(&options).await,
        Role::Client(options) => client::run(options).await,
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::failed(&*error);
            // A read of standard input can't be cancelled.
            std::process::exit(1);
        }
    }
}
