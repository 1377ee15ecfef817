//! Connects to one address, or to those of a name in turn.

mod error;
mod failures;
mod resolve;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use socket2::SockRef;
use tessera_tokio::fast_open::FastOpenStream;
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Instant, sleep, timeout_at};

use self::error::Attempt;
pub use self::error::DialError;
use self::failures::Failures;
use self::resolve::Resolver;
use crate::address::DialAddress;
use crate::socket::{Socket, prepare};

/// Options for connecting.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct DialOptions {
    /// The time limit for everything: resolving the name, and trying each address. Default: 5 seconds.
    pub deadline: Duration,
    /// Whether the first write travels in the SYN (RFC 7413), if the kernel has a cookie: the owner must then write
    /// first, and learns of a closed port only with that write. See [`tessera_tokio::fast_open`] for its cost. Default:
    /// no.
    pub fast_open: bool,
}

impl Default for DialOptions {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(5), fast_open: false }
    }
}

/// Connects to one destination, any number of times. Can be cloned.
#[derive(Debug, Clone)]
pub struct Dialler {
    address: DialAddress,
    target: Target,
    options: DialOptions,
    failures: Arc<Failures>,
}

#[derive(Debug, Clone)]
enum Target {
    Tcp(SocketAddr),
    Name(Resolver),
    Unix(PathBuf),
}

impl Dialler {
    /// Creates a dialler for this address.
    #[must_use]
    pub fn new(address: DialAddress, options: DialOptions) -> Self {
        let target = match &address {
            DialAddress::Tcp(address) => Target::Tcp(*address),
            DialAddress::Name(name) => Target::Name(Resolver::new(name.clone())),
            DialAddress::Unix(path) => Target::Unix(path.clone()),
        };
        Self { address, target, options, failures: Arc::default() }
    }

    /// Returns where it connects to.
    #[must_use]
    pub fn address(&self) -> &DialAddress {
        &self.address
    }

    /// Connects. The addresses of a name are tried in the order of the system (RFC 6724), with those that failed in the
    /// last ten seconds at the end. Each gets an equal share of the time left. A resolved name is used for a minute and
    /// refreshed in the background; it is forgotten if none of its addresses can be reached.
    pub async fn dial(&self) -> Result<Socket, DialError> {
        let deadline = Instant::now() + self.options.deadline;
        let connected = match &self.target {
            Target::Tcp(address) => self.dial_each(vec![*address], deadline).await,
            Target::Name(resolver) => self.dial_name(resolver, deadline).await,
            Target::Unix(path) => self.dial_unix(path, deadline).await,
        };
        connected.map_err(|tried| DialError::new(self.address.clone(), tried))
    }

    /// Tries this address last for a while, because its connection failed after the dial, such as at the first write
    /// with [`DialOptions::fast_open`].
    pub fn avoid(&self, address: SocketAddr) {
        self.failures.note(address);
    }

    async fn dial_name(
        &self,
        resolver: &Resolver,
        deadline: Instant,
    ) -> Result<Socket, Vec<Attempt>> {
        let found = timeout_at(deadline, resolver.addresses()).await;
        match found.unwrap_or_else(|_| Err(no_answer(self.options.deadline))) {
            Ok(found) => {
                let connected = self.dial_each(found, deadline).await;
                connected.inspect_err(|_| resolver.forget())
            }
            Err(error) => Err(vec![Attempt::of_all(error)]),
        }
    }

    async fn dial_each(
        &self,
        mut addresses: Vec<SocketAddr>,
        deadline: Instant,
    ) -> Result<Socket, Vec<Attempt>> {
        self.failures.to_the_end(&mut addresses);
        let mut tried = Vec::new();
        for (index, address) in addresses.iter().copied().enumerate() {
            let left = deadline.saturating_duration_since(Instant::now());
            let share = left / u32::try_from(addresses.len() - index).unwrap_or(u32::MAX);
            let connected = timeout_at(Instant::now() + share, self.connect(address)).await;
            match connected.unwrap_or_else(|_| Err(no_answer(share))) {
                Ok(socket) => return Ok(socket),
                Err(error) => {
                    self.failures.note_if_its_own(address, &error);
                    tried.push(Attempt::of(address, error));
                }
            }
        }
        Err(tried)
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<Socket> {
        if self.options.fast_open {
            let stream = FastOpenStream::connect(address).await?;
            prepare(SockRef::from(stream.get_ref()));
            return Ok(Socket::FastOpen(Box::new(stream)));
        }
        let stream = TcpStream::connect(address).await?;
        prepare(SockRef::from(&stream));
        Ok(Socket::Tcp(stream))
    }

    async fn dial_unix(&self, path: &Path, deadline: Instant) -> Result<Socket, Vec<Attempt>> {
        let connected = timeout_at(deadline, connect_unix(path)).await;
        match connected.unwrap_or_else(|_| Err(no_answer(self.options.deadline))) {
            Ok(stream) => Ok(Socket::Unix(stream)),
            Err(error) => Err(vec![Attempt::of_all(error)]),
        }
    }
}

/// A listener whose queue is full fails at once: EAGAIN of connect(2).
async fn connect_unix(path: &Path) -> io::Result<UnixStream> {
    let mut pause = SHORTEST_PAUSE;
    loop {
        match UnixStream::connect(path).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                sleep(pause).await;
                pause = (2 * pause).min(LONGEST_PAUSE);
            }
            connected => return connected,
        }
    }
}

fn no_answer(within: Duration) -> io::Error {
    io::Error::new(
        io::ErrorKind::TimedOut,
        format!("no answer within {:.1} s", within.as_secs_f64()),
    )
}

const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests;
