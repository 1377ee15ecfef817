//! The server.

mod certificates;
mod client;
mod config;
mod connection;
mod datagrams;
mod echo;
mod files;
mod http;
mod listener;
mod page;
mod refusals;
mod reload;
mod shared;
mod socket;
mod stores;

use tessera_kit::{ProgramError, runtime};

use crate::options::ServeOptions;

/// Serves until Ctrl-C or SIGTERM.
///
/// On SIGHUP it reloads certificate, key, authorities, revocation lists and PSKs, all or none.
///
/// # Errors
/// If the options contradict each other, or the address can't be bound. Failures of single connections are reported as
/// facts.
pub fn serve(options: &ServeOptions) -> Result<(), ProgramError> {
    // Before any thread starts: it changes the environment.
    let inherited = socket::inherited()?;
    runtime::run(listener::serve(options, inherited))
}
