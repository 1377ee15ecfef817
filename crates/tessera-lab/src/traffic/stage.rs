//! Where flows are recorded: both ends of a link as threads of this process, and the observer at the
//! client's end.

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::num::NonZeroU16;
use std::os::fd::AsRawFd;
use std::thread;

use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, connect, setsockopt, socket, sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};
use tessera::handshake::Checked;
use tessera::resume::ClientSession;
use tessera::{ClientConfig, Padding, ServerConfig};
use tessera_link::{End, Link, LinkParameters};

use super::conversation::{Caller, Told, answer};
use super::observer::{Observer, Watched};
use super::registration::Sizes;
use super::report::Flow;
use crate::bench::{check, set_link};
use crate::control::Preparation;
use crate::endpoint::{self, PATIENCE, Stores, client_configuration, server_configuration};
use crate::error::LabError;
use crate::pki::Pki;
use crate::variants::{Suite, Variant};

/// How many sessions one connection brings. The engine refuses more than 32 tickets in a row.
const SESSIONS_AT_ONCE: u8 = 30;

/// Both ends and what is between them.
pub(super) struct Stage {
    observer: Observer,
    listener: TcpListener,
    address: SocketAddrV4,
    pki: Pki,
    // The last to go: the others are at its ends.
    link: Link,
}

/// Both ends of a variant, ready to connect.
pub(super) struct Ready {
    variant: Variant,
    padding: Option<NonZeroU16>,
    /// Asks for one ticket.
    client: Checked<ClientConfig>,
    /// Asks for many.
    collector: Checked<ClientConfig>,
    server: Checked<ServerConfig>,
    sessions: VecDeque<ClientSession>,
}

impl Stage {
    pub(super) fn new(link: Link) -> Result<Self, LabError> {
        let pki = Pki::new()
            .map_err(|error| LabError::Connection(format!("making certificates: {error}")))?;
        let observer = at(&link, End::Client, Observer::open)
            .map_err(LabError::system("opening the observer's socket, which needs CAP_NET_RAW"))?;
        let server = link.addresses().server;
        let listen = move || {
            let listener = TcpListener::bind((server, 0))?;
            // A client that never comes must not hold the experiment up.
            setsockopt(&listener, sockopt::ReceiveTimeout, &patience())?;
            Ok(listener)
        };
        let listener = at(&link, End::Server, listen).map_err(LabError::system("listening"))?;
        let address = match listener.local_addr().map_err(LabError::system("listening"))? {
            SocketAddr::V4(address) => address,
            SocketAddr::V6(_) => return Err(LabError::Connection("links carry IPv4".to_owned())),
        };
        Ok(Self { observer, listener, address, pki, link })
    }

    /// Changes the link when the last packets have left it.
    pub(super) fn set_link(&self, parameters: &LinkParameters) -> Result<(), LabError> {
        set_link(&self.link, parameters)
    }

    /// Makes both ends of a variant, and gets the client so many sessions.
    pub(super) fn prepare(
        &mut self,
        variant: Variant,
        padding: Option<NonZeroU16>,
        sessions: usize,
    ) -> Result<Ready, LabError> {
        let mut ready = self.configure(variant, padding).map_err(|error| failed(&*error))?;
        while variant.mode.resumes() && ready.sessions.len() < sessions {
            let config = ready.collector.clone();
            let caller = Caller { config, session: None, sessions: SESSIONS_AT_ONCE.into() };
            let exchange = Sizes { request: 1, response: 1 };
            let call = self.connect(&ready.server, caller, &[exchange], None)?;
            ready.sessions.extend(call.sessions);
        }
        Ok(ready)
    }

    fn configure(&self, variant: Variant, padding: Option<NonZeroU16>) -> endpoint::Result<Ready> {
        let way = variant.way();
        let suite = Some(variant.suite);
        let preparation = |identity| Preparation { suite, ..Preparation::new(way, identity) };
        let padded = padding.map_or(Padding::None, Padding::MultipleOf);
        let client = |sessions| {
            let preparation = preparation(self.pki.client.clone());
            let mut config = (*client_configuration(&preparation, sessions)?).clone();
            config.padding = padded;
            Ok::<_, Box<dyn std::error::Error>>(config.checked()?)
        };
        let preparation = preparation(self.pki.server.clone());
        let mut server = (*server_configuration(&preparation, &Stores::new(false)?)?).clone();
        server.padding = padded;
        Ok(Ready {
            variant,
            padding,
            client: client(1)?,
            collector: client(SESSIONS_AT_ONCE)?,
            server: server.checked()?,
            sessions: VecDeque::new(),
        })
    }

    /// Records one connection with these exchanges, which has to be what it is called.
    pub(super) fn record(
        &mut self,
        ready: &mut Ready,
        exchanges: &[Sizes],
    ) -> Result<Flow, LabError> {
        let Ready { variant, padding, .. } = *ready;
        let session = if variant.mode.resumes() {
            let session = ready.sessions.pop_front();
            Some(session.ok_or_else(|| LabError::Connection("no session is left".to_owned()))?)
        } else {
            None
        };
        let caller = Caller { config: ready.client.clone(), session, sessions: 1 };
        let mut watched = Watched::new(self.address);
        self.observer.forget().map_err(LabError::system(OBSERVING))?;
        let call = self.connect(&ready.server, caller, exchanges, Some(&mut watched))?;
        check(variant.way(), &call.client.observed, &call.server.observed)?;
        let suite = Suite::ALL
            .into_iter()
            .find(|suite| call.client.suite == Some(suite.cipher_suite().0))
            .ok_or_else(|| LabError::Connection("a connection has another suite".to_owned()))?;
        let sizes_and_times = watched
            .sizes_and_times([call.client.sent, call.server.sent])
            .map_err(LabError::Connection)?;
        Ok(Flow {
            variant: Variant { suite, ..variant },
            rtt_ms: self.link.parameters().rtt.as_secs_f64() * 1e3,
            padding: padding.map(NonZeroU16::get),
            plaintext: watched.plaintext(),
            sizes_and_times,
        })
    }

    /// Makes one connection; the observer looks on if there is something to watch it with.
    fn connect(
        &mut self,
        server: &Checked<ServerConfig>,
        caller: Caller,
        exchanges: &[Sizes],
        mut watched: Option<&mut Watched>,
    ) -> Result<Call, LabError> {
        let stream = self.socket().map_err(LabError::system("making a socket"))?;
        let (listener, address) = (&self.listener, SocketAddr::V4(self.address));
        let observer = &mut self.observer;
        let mut look = || match &mut watched {
            Some(watched) => observer.look(watched),
            None => observer.forget(),
        };
        let (called, answered) = thread::scope(|scope| {
            let serving = scope.spawn(|| {
                let (stream, _) = listener.accept().map_err(|error| error.to_string())?;
                answer(stream, server.clone(), exchanges).map_err(|error| error.to_string())
            });
            let called = connect(stream.as_raw_fd(), &SockaddrStorage::from(address))
                .map_err(Into::into)
                .and_then(|()| caller.call(stream, exchanges, || Ok(look()?)));
            let served = serving.join().unwrap_or_else(|_| Err("its thread failed".to_owned()));
            (called, served)
        });
        look().map_err(LabError::system(OBSERVING))?;
        match (called, answered) {
            (Ok((client, sessions)), Ok(server)) => Ok(Call { client, sessions, server }),
            (called, answered) => Err(self.connection_failed(called.err(), answered.err())),
        }
    }

    /// A socket at the client's end, not connected yet: connecting is part of the flow.
    fn socket(&self) -> io::Result<TcpStream> {
        at(&self.link, End::Client, || {
            let flags = SockFlag::SOCK_CLOEXEC;
            let socket = socket(AddressFamily::Inet, SockType::Stream, flags, None)?;
            // connect() waits for no longer.
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
            "a connection failed; the client says: {client}; the server says: {server}"
        ))
    }
}

/// A connection, as both ends tell it.
struct Call {
    client: Told,
    sessions: Vec<ClientSession>,
    server: Told,
}

const OBSERVING: &str = "observing packets";

fn failed(error: &dyn std::error::Error) -> LabError {
    LabError::Connection(format!("preparing both ends: {error}"))
}

/// How long sockets wait.
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
