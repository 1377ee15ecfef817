//! The processes under test: one is the client, one the server, and each does what it is told on
//! its standard input.
//!
//! An endpoint serves one connection at a time in one thread, so that processor time and memory
//! can be told apart by connection.

mod client;
mod configuration;
mod pipes;
mod request;
mod server;
mod sites;
mod stores;
#[cfg(test)]
mod tests;
mod wire;

use std::io;

use tessera_link::End;

/// The arguments with which the lab starts its program again, to be one of the endpoints: the
/// first, followed by the name of the end. They are not meant for people.
pub const ARGUMENTS: [&str; 2] = ["lab", "endpoint"];

/// The name of an end among the arguments.
#[must_use]
pub fn name(end: End) -> &'static str {
    match end {
        End::Client => "client",
        End::Server => "server",
    }
}

/// Is one end of an experiment, until the lab closes this process's standard input.
///
/// # Errors
///
/// If orders cannot be read or answers not be written: then there is no lab any more.
pub fn run(end: End) -> io::Result<()> {
    match end {
        End::Client => client::run(),
        End::Server => server::run(),
    }
}
