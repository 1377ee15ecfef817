//! The processes of this experiment: a server with its connections, and a client with all users.
//!
//! Each has one thread for its connections, and one that reads orders and otherwise sleeps: three processes share the
//! machine with the link, and should not compete for it.

mod client;
mod meter;
mod server;
mod setup;

use std::io;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tessera_link::End;
use tokio::runtime::{Builder, Runtime};

use self::client::Client;
use self::server::Server;
use super::control::{ClientAnswer, ServerAnswer};
use crate::endpoint::{Result, answer, orders};

/// The arguments with which the lab starts its program again for this experiment, followed by the name of the end.
///
/// They are not for users.
pub const ARGUMENTS: [&str; 2] = ["lab", "load-endpoint"];

/// How long a connection may take, with all that it carries.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs one end of this experiment, until the lab closes this process's standard input.
///
/// It may open this many files.
///
/// # Errors
///
/// If orders cannot be read or answers cannot be written, because the lab has ended.
pub fn run(end: End, open_files: u64) -> io::Result<()> {
    match end {
        End::Client => {
            let mut client = Client::new(runtime()?);
            serve(|order| client.obey(order), ClientAnswer::Failed)
        }
        End::Server => {
            let mut server = Server::new(runtime()?, open_files);
            serve(|order| server.obey(order), ServerAnswer::Failed)
        }
    }
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(1).enable_all().build()
}

/// Obeys orders until there are no more.
fn serve<O: DeserializeOwned + Send + 'static, A: Serialize>(
    mut obey: impl FnMut(O) -> Result<A>,
    failed: fn(String) -> A,
) -> io::Result<()> {
    for order in orders() {
        answer(&obey(order?).unwrap_or_else(|error| failed(error.to_string())))?;
    }
    Ok(())
}
