//! A link with both of its ends as threads of this process, and an observer at the client's end, who sees each packet
//! of an emulated one.

mod bytes;
mod conversation;
mod link_name;
mod observer;
mod sample;
mod segment;

use std::io;
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread;
use std::time::Duration;

use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, connect, setsockopt, socket, sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};
use tessera::ServerConfig;
use tessera::handshake::Checked;
use tessera::resume::ClientSession;
use tessera_link::{End, Link, LinkParameters};

pub(crate) use self::bytes::{Counter, SentBytes};
pub(crate) use self::conversation::{Caller, EndReport, RECORD_OVERHEAD, Sizes};
pub(crate) use self::link_name::LinkName;
pub(crate) use self::observer::Watch;
pub(crate) use self::sample::{LONGEST_US, MOST_BYTES, Sample};
pub(crate) use self::segment::Segment;
#[cfg(test)]
pub(crate) use self::segment::tests::packet;

use self::conversation::answer;
use self::observer::Observer;
use crate::bench::set_link;
use crate::clock;
use crate::endpoint::PATIENCE;
use crate::error::LabError;

/// Both ends, and the link between them.
pub(crate) struct WiredPair {
    /// Over loopback packets would pass twice: none.
    observer: Option<Observer>,
    listener: TcpListener,
    address: SocketAddrV4,
    // Dropped last: the others are at its ends.
    link: Link,
}

/// A connection, as seen by both ends.
pub(crate) struct Call {
    pub(crate) client: EndReport,
    pub(crate) sessions: Vec<ClientSession>,
    pub(crate) server: EndReport,
    /// Before connect(), and when it returned, on the machine's clock.
    pub(crate) started: Duration,
    pub(crate) connected: Duration,
}

impl WiredPair {
    pub(crate) fn new(link: Link) -> Result<Self, LabError> {
        let failed = LabError::system("opening the observer's socket, which needs CAP_NET_RAW");
        let observer = if link.emulates() {
            Some(at(&link, End::Client, Observer::open).map_err(failed)?)
        } else {
            None
        };
        let server = link.addresses().server;
        let listen = move || {
            let listener = TcpListener::bind((server, 0))?;
            // A client that never connects must not block the experiment.
            setsockopt(&listener, sockopt::ReceiveTimeout, &patience())?;
            Ok(listener)
        };
        let listener = at(&link, End::Server, listen).map_err(LabError::system("listening"))?;
        let address = match listener.local_addr().map_err(LabError::system("listening"))? {
            SocketAddr::V4(address) => address,
            SocketAddr::V6(_) => return Err(LabError::Connection("links carry IPv4".to_owned())),
        };
        Ok(Self { observer, listener, address, link })
    }

    /// Returns the link between the ends.
    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// Returns where the server listens.
    pub(crate) fn address(&self) -> SocketAddrV4 {
        self.address
    }

    /// Changes the link when the last packets have left it.
    pub(crate) fn set_link(&self, parameters: &LinkParameters) -> Result<(), LabError> {
        set_link(&self.link, parameters)
    }

    /// Makes one connection, whose packets may be watched.
    pub(crate) fn connect(
        &mut self,
        server: &Checked<ServerConfig>,
        caller: Caller,
        exchanges: &[Sizes],
        mut watched: Option<&mut dyn Watch>,
    ) -> Result<Call, LabError> {
        if let Some(observer) = &mut self.observer {
            observer.forget().map_err(LabError::system(OBSERVING))?;
        }
        let stream = self.socket().map_err(LabError::system("making a socket"))?;
        let (listener, address) = (&self.listener, SocketAddr::V4(self.address));
        let observer = &mut self.observer;
        let mut look = || match (&mut watched, &mut *observer) {
            (Some(watched), Some(observer)) => observer.look(&mut **watched),
            (None, Some(observer)) => observer.forget(),
            (_, None) => Ok(()),
        };
        let (called, answered) = thread::scope(|scope| {
            let serving = scope.spawn(|| {
                let serve = || -> Result<_, Box<dyn std::error::Error>> {
                    let begun = clock::thread_cpu()?;
                    let (stream, _) = listener.accept()?;
                    let mut report = answer(stream, server.clone(), exchanges)?;
                    report.thread_cpu = clock::thread_cpu()?.saturating_sub(begun);
                    Ok(report)
                };
                serve().map_err(|error| error.to_string())
            });
            let call = || {
                let started = clock::monotonic()?;
                connect(stream.as_raw_fd(), &SockaddrStorage::from(address))?;
                let connected = clock::monotonic()?;
                let (told, sessions) = caller.call(stream, exchanges, || Ok(look()?))?;
                Ok((told, sessions, started, connected))
            };
            let called: Result<_, Box<dyn std::error::Error>> = call();
            let served = serving.join().unwrap_or_else(|_| Err("its thread failed".to_owned()));
            (called, served)
        });
        look().map_err(LabError::system(OBSERVING))?;
        match (called, answered) {
            (Ok((client, sessions, started, connected)), Ok(server)) => {
                Ok(Call { client, sessions, server, started, connected })
            }
            (called, answered) => Err(self.connection_failed(called.err(), answered.err())),
        }
    }

    /// Watches the end of the last connection: the end that closes first misses TCP's last segments.
    pub(crate) fn see_the_end(&mut self, watched: &mut dyn Watch) -> Result<(), LabError> {
        let Some(observer) = &mut self.observer else { return Ok(()) };
        // The last packets, and threads that are slow.
        const SLOW: Duration = Duration::from_millis(5);
        thread::sleep(self.link.parameters().settling_time() + SLOW);
        observer.look(watched).map_err(LabError::system(OBSERVING))
    }

    /// Returns a socket at the client's end, not connected yet: connecting is part of the flow.
    fn socket(&self) -> io::Result<TcpStream> {
        at(&self.link, End::Client, || {
            let flags = SockFlag::SOCK_CLOEXEC;
            let socket = socket(AddressFamily::Inet, SockType::Stream, flags, None)?;
            // This bounds connect() too.
            setsockopt(&socket, sockopt::SendTimeout, &patience())?;
            Ok(TcpStream::from(socket))
        })
    }

    fn connection_failed(
        &self,
        client: Option<Box<dyn std::error::Error>>,
        server: Option<String>,
    ) -> LabError {
        if let Some(reason) = self.link.failure() {
            return LabError::Connection(format!("the link failed: {reason}"));
        }
        let nothing = || "nothing went wrong".to_owned();
        let client = client.map_or_else(nothing, |error| error.to_string());
        let server = server.unwrap_or_else(nothing);
        LabError::Connection(format!(
            "a connection failed; the client reports: {client}; the server reports: {server}"
        ))
    }
}

const OBSERVING: &str = "observing packets";

/// Returns how long sockets wait.
fn patience() -> TimeVal {
    TimeVal::seconds(PATIENCE.as_secs().try_into().unwrap_or(i64::MAX))
}

/// Does something at one end of the link.
fn at<T: Send + 'static>(
    link: &Link,
    end: End,
    job: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let thread = link.spawn_thread(end, job)?;
    thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread failed")))
}
