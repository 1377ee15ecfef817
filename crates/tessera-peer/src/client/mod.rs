//! The client.

mod config;
mod load;
mod once;
mod pool;
mod summary;

use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::error::PeerError;
use crate::options::ConnectOptions;
use crate::runtime;

/// Connects: once, with standard input and output, or many times, to measure.
///
/// # Errors
/// If the options can't be as they are, or something fails on the way; of a load, if no connection
/// came to be.
pub fn connect(options: &ConnectOptions) -> Result<(), PeerError> {
    runtime::run(async {
        match &options.load {
            None => once::run(options).await,
            Some(load) => load::run(options, load).await,
        }
    })
}

/// A TCP connection to the server.
async fn dial(options: &ConnectOptions) -> Result<TcpStream, PeerError> {
    let ConnectOptions { host, port, .. } = options;
    let dialled = timeout(PATIENCE, TcpStream::connect((host.as_str(), *port))).await;
    let dialled = dialled.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()));
    let socket = dialled.map_err(|error| {
        let advice = match error.kind() {
            std::io::ErrorKind::ConnectionRefused => "; nobody listens there: check host and port",
            std::io::ErrorKind::TimedOut => "; is there a firewall?",
            _ => "",
        };
        PeerError::Failed(format!("{host}:{port}: {error}{advice}"))
    })?;
    // Without it only the answer is slower.
    let _ = socket.set_nodelay(true);
    Ok(socket)
}

/// How long TCP may take to connect.
const PATIENCE: Duration = Duration::from_secs(10);
