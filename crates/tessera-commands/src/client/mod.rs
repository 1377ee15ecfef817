//! The client.

mod advice;
mod carry;
mod config;
mod datagrams;
mod load;
mod once;
mod pool;
mod standard;
mod summary;

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

use tessera_kit::{ProgramError, runtime};
use tessera_tokio::fast_open::FastOpenStream;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use crate::options::ConnectOptions;

/// Connects once with standard input and output, or many times to measure.
///
/// # Errors
/// If the options contradict each other, or a step fails; for a load, if no connection succeeded.
pub fn connect(options: &ConnectOptions) -> Result<(), ProgramError> {
    runtime::run(async {
        match &options.load {
            None if options.udp => datagrams::run(options).await,
            None => once::run(options).await,
            Some(load) => load::run(options, load).await,
        }
    })
}

/// Returns a TCP connection to the server.
async fn dial(options: &ConnectOptions) -> Result<FastOpenStream, ProgramError> {
    let ConnectOptions { host, port, .. } = options;
    let dialling = timeout(PATIENCE, async {
        let found = look_up(host, *port).await?;
        let connected = if options.tcp_fast_open {
            open_fast(&found).await
        } else {
            TcpStream::connect(&found[..]).await.map(FastOpenStream::from)
        };
        connected.map_err(|error| no_connection(options, &error))
    });
    let timed_out = |_| Err(no_connection(options, &ErrorKind::TimedOut.into()));
    let socket = dialling.await.unwrap_or_else(timed_out)?;
    // If it fails, only answers are slower.
    let _ = socket.get_ref().set_nodelay(true);
    Ok(socket)
}

async fn look_up(host: &str, port: u16) -> Result<Vec<SocketAddr>, ProgramError> {
    let found = lookup_host((host, port)).await.map_err(|error| {
        let advice = "check the host; an address needs no lookup";
        ProgramError::Failed(format!("{host}: {error}; {advice}"))
    })?;
    Ok(found.collect())
}

/// Tries one address after the other, as `TcpStream::connect` does. An address with a cookie in the kernel is not tried
/// before the first flight: it answered last time.
async fn open_fast(addresses: &[SocketAddr]) -> io::Result<FastOpenStream> {
    let mut result = Err(ErrorKind::AddrNotAvailable.into());
    for address in addresses {
        result = FastOpenStream::connect(*address).await;
        if result.is_ok() {
            break;
        }
    }
    result
}

fn no_connection(options: &ConnectOptions, error: &io::Error) -> ProgramError {
    let advice = match error.kind() {
        ErrorKind::TimedOut => Some("is there a firewall?"),
        kind => advice::of_network(kind),
    };
    let advice = advice.map_or_else(String::new, |advice| format!("; {advice}"));
    ProgramError::Failed(format!("{}:{}: {error}{advice}", options.host, options.port))
}

/// How long TCP may take to connect.
const PATIENCE: Duration = Duration::from_secs(10);
