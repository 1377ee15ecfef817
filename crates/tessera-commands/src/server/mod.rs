//! The server.

mod client;
mod config;
mod connection;
mod echo;
mod heads;
mod http;
mod listener;
mod page;
mod refusals;
mod state;
mod stores;

use tessera_kit::{ProgramError, runtime};

use crate::options::ServeOptions;

/// Serves until it is asked to end by Ctrl-C or SIGTERM.
///
/// # Errors
/// If the options can't be as they are, or the address can't be had. What goes wrong in a
/// connection is told as its fact.
pub fn serve(options: &ServeOptions) -> Result<(), ProgramError> {
    // Before there are threads: it changes the environment.
    let inherited = listener::inherited()?;
    runtime::run(listener::serve(options, inherited))
}
