//! The client.

mod advice;
mod carry;
mod config;
mod load;
mod once;
mod pool;
mod standard;
mod summary;

use std::io::{self, ErrorKind};
use std::time::Duration;

use tessera_kit::{ProgramError, runtime};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use crate::options::ConnectOptions;

/// Connects: once, with standard input and output, or many times, to measure.
///
/// # Errors
/// If the options can't be as they are, or something fails on the way; of a load, if no connection
/// came to be.
pub fn connect(options: &ConnectOptions) -> Result<(), ProgramError> {
    runtime::run(async {
        match &options.load {
            None => once::run(options).await,
            Some(load) => load::run(options, load).await,
        }
    })
}

/// A TCP connection to the server.
async fn dial(options: &ConnectOptions) -> Result<TcpStream, ProgramError> {
    let ConnectOptions { host, port, .. } = options;
    let dialling = timeout(PATIENCE, async {
        let found = lookup_host((host.as_str(), *port)).await;
        let found: Vec<_> = found
            .map_err(|error| {
                let advice = "check the host; an address needs no lookup";
                ProgramError::Failed(format!("{host}: {error}; {advice}"))
            })?
            .collect();
        TcpStream::connect(&found[..]).await.map_err(|error| no_connection(options, &error))
    });
    let timed_out = |_| Err(no_connection(options, &ErrorKind::TimedOut.into()));
    let socket = dialling.await.unwrap_or_else(timed_out)?;
    // Without it only the answer is slower.
    let _ = socket.set_nodelay(true);
    Ok(socket)
}

fn no_connection(options: &ConnectOptions, error: &io::Error) -> ProgramError {
    let advice = match error.kind() {
        ErrorKind::ConnectionRefused => "; nobody listens there: check host and port",
        ErrorKind::TimedOut => "; is there a firewall?",
        ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable => {
            "; there is no way there: check the network, or try another address of the host"
        }
        _ => "",
    };
    ProgramError::Failed(format!("{}:{}: {error}{advice}", options.host, options.port))
}

/// How long TCP may take to connect.
const PATIENCE: Duration = Duration::from_secs(10);
