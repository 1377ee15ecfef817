//! Connects to one address, or to each of a name's in turn.

mod error;
mod resolve;

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use tessera_tokio::fast_open::FastOpenStream;
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Instant, timeout_at};

use self::error::Attempt;
pub use self::error::DialError;
use self::resolve::Resolver;
use crate::address::DialAddress;
use crate::listen::prepare;
use crate::socket::Socket;

/// How to connect.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct DialOptions {
    /// How long all of it may take: to look the name up, and to try each address. Default: 5 seconds.
    pub deadline: Duration,
    /// Whether the first write travels in the SYN (RFC 7413), where the kernel has a cookie: the owner writes first
    /// then, and learns with it that nobody listens. See [`tessera_tokio::fast_open`] for what it costs. Default: no.
    pub fast_open: bool,
}

impl Default for DialOptions {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(5), fast_open: false }
    }
}

/// Connects to one place, as often as it is asked to. It can be cloned.
#[derive(Debug, Clone)]
pub struct Dialler {
    address: DialAddress,
    options: DialOptions,
    resolver: Resolver,
}

impl Dialler {
    /// Connects to this address.
    #[must_use]
    pub fn new(address: DialAddress, options: DialOptions) -> Self {
        Self { address, options, resolver: Resolver::default() }
    }

    /// Where it connects to.
    #[must_use]
    pub fn address(&self) -> &DialAddress {
        &self.address
    }

    /// Connects. The addresses of a name are tried in the order that the system gives (RFC 6724), each within an
    /// equal share of what is left of the deadline.
    pub async fn dial(&self) -> Result<Socket, DialError> {
        let deadline = Instant::now() + self.options.deadline;
        let mut tried = Vec::new();
        let found = match &self.address {
            DialAddress::Unix(path) => return self.dial_unix(path, deadline).await,
            DialAddress::Tcp(address) => vec![*address],
            DialAddress::Name(name) => {
                match timeout_at(deadline, self.resolver.addresses(name)).await {
                    Ok(Ok(found)) => found,
                    Ok(Err(error)) => return Err(self.failed(vec![Attempt::lookup(error)])),
                    Err(_) => {
                        return Err(
                            self.failed(vec![Attempt::lookup(no_answer(self.options.deadline))])
                        );
                    }
                }
            }
        };
        for (index, address) in found.iter().enumerate() {
            let left = deadline.saturating_duration_since(Instant::now());
            let share = left / u32::try_from(found.len() - index).unwrap_or(u32::MAX);
            match timeout_at(Instant::now() + share, self.connect(*address)).await {
                Ok(Ok(socket)) => return Ok(socket),
                Ok(Err(error)) => tried.push(Attempt::tcp(*address, error)),
                Err(_) => tried.push(Attempt::tcp(*address, no_answer(share))),
            }
        }
        Err(self.failed(tried))
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<Socket> {
        if self.options.fast_open {
            let stream = FastOpenStream::connect(address).await?;
            prepare(stream.get_ref());
            return Ok(Socket::FastOpen(Box::new(stream)));
        }
        let stream = TcpStream::connect(address).await?;
        prepare(&stream);
        Ok(Socket::Tcp(stream))
    }

    async fn dial_unix(&self, path: &Path, deadline: Instant) -> Result<Socket, DialError> {
        let error = match timeout_at(deadline, UnixStream::connect(path)).await {
            Ok(Ok(stream)) => return Ok(Socket::Unix(stream)),
            Ok(Err(error)) => error,
            Err(_) => no_answer(self.options.deadline),
        };
        Err(self.failed(vec![Attempt::unix(error)]))
    }

    fn failed(&self, tried: Vec<Attempt>) -> DialError {
        DialError::new(self.address.clone(), tried)
    }
}

fn no_answer(within: Duration) -> io::Error {
    io::Error::new(
        io::ErrorKind::TimedOut,
        format!("no answer within {:.1} s", within.as_secs_f64()),
    )
}
