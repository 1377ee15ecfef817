//! The server.

mod certificates;
mod client;
mod config;
mod connection;
mod echo;
mod http;
mod listener;
mod page;
mod refusals;
mod reload;
mod shared;
mod stores;

use tessera_kit::{ProgramError, runtime};

use crate::options::ServeOptions;

/// Serves until it is asked to end by Ctrl-C or SIGTERM. On SIGHUP it loads certificate, key, authorities,
/// revocation lists and PSKs again, all or none.
///
/// # Errors
/// If the options can't be as they are, or the address can't be had. What goes wrong in a
/// connection is told as its fact.
pub fn serve(options: &ServeOptions) -> Result<(), ProgramError> {
    // Before there are threads: it changes the environment.
    let inherited = listener::inherited()?;
    runtime::run(listener::serve(options, inherited))
}
