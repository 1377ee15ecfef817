//! The processes under test: a client and a server, which obey orders on their standard input.
//!
//! An endpoint serves one connection at a time in one thread, so that processor time and memory can be attributed to
//! connections.

mod client;
mod configuration;
mod dial;
mod etcd;
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

use tessera_adversary::process_memory::ProcessMemory;

pub(crate) use self::configuration::{
    PATIENCE, anonymous_client_config, client as client_configuration, client_config, credential,
    observed, private_key, server as server_configuration, server_config, verifier,
};
pub(crate) use self::etcd::EtcdStore;
pub(crate) use self::pipes::{Result, answer, orders};
pub(crate) use self::request::{Application, LEN as REQUEST_LEN, fresh as fresh_request};
pub(crate) use self::sites::{
    AWAY, BlockingVault, HOME, IsolatedChannel, answer as answer_sites, ask as ask_site,
};
pub(crate) use self::stores::{Stores, new_ticket_key};
pub(crate) use self::wire::Wire;

/// The arguments with which the lab starts its program again as one of the endpoints: these, followed by the name of
/// the end.
///
/// They are not for users.
pub const ARGUMENTS: [&str; 2] = ["lab", "endpoint"];

/// Returns the name of an end among the arguments.
#[must_use]
pub fn name(end: End) -> &'static str {
    match end {
        End::Client => "client",
        End::Server => "server",
    }
}

/// Runs one end of an experiment, until the lab closes this process's standard input.
///
/// `guard` protects the memory of this process; the server has opened its own for the lab's adversary by then.
///
/// # Errors
///
/// If orders cannot be read or answers cannot be written, because the lab has ended; or if the process can't read its
/// own memory.
pub fn run(end: End, guard: impl FnOnce()) -> io::Result<()> {
    match end {
        End::Client => {
            guard();
            client::run()
        }
        End::Server => {
            let memory = ProcessMemory::of_this_process()?;
            guard();
            server::run(memory)
        }
    }
}
