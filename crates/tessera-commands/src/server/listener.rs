//! Listens, and starts a task for each connection.

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{self, SocketAddr};
use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tessera_kit::credential::fingerprint;
use tessera_kit::inherited::{InheritedSocket, InheritedSockets};
use tessera_kit::live::LiveConfig;
use tessera_kit::report::{Fact, Report};
use tessera_kit::state::StateContents;
use tessera_kit::{ProgramError, open_files, signals};
use tessera_tokio::fast_open::accept_on;
use tessera_tokio::{Acceptor, Limits, Server};
use tokio::net::TcpListener;

use super::certificates::Certificates;
use super::config::{ConfiguredServer, configure, configure_again};
use super::refusals::Refusals;
use super::stores::Stores;
use super::{connection, reload};
use crate::options::ServeOptions;

/// Returns the listening socket passed by a supervisor (sd_listen_fds(3)), if any.
pub(super) fn inherited() -> Result<Option<net::TcpListener>, ProgramError> {
    let wrong = |what: &str| {
        ProgramError::settings(format!(
            "LISTEN_FDS: {what}; pass one TCP socket, as ListenStream=4433 does"
        ))
    };
    let mut sockets = InheritedSockets::from_env()?.take_all();
    match (sockets.pop(), sockets.len()) {
        (None, _) => Ok(None),
        (Some(InheritedSocket::Tcp(socket)), 0) => Ok(Some(socket)),
        (Some(InheritedSocket::Unix(_)), 0) => Err(wrong("the socket is not a TCP socket")),
        (_, more) => Err(wrong(&format!("{} sockets, but the server listens on one", more + 1))),
    }
}

pub(super) async fn serve(
    options: &ServeOptions,
    inherited: Option<net::TcpListener>,
) -> Result<(), ProgramError> {
    options.check()?;
    let (stores, found) = Stores::new(options)?;
    let served = serve_with(options, inherited, &stores, found).await;
    // On every outcome: what was read from the state exists only here.
    let closed = stores.close();
    served.and(closed)
}

async fn serve_with(
    options: &ServeOptions,
    inherited: Option<net::TcpListener>,
    stores: &Stores,
    found: Option<StateContents>,
) -> Result<(), ProgramError> {
    let ConfiguredServer { config, lasting, fresh } = configure(options, stores)?;
    if let (Some(fresh), Some(path)) = (&fresh, &options.write_certificate) {
        fresh.write(path)?;
    }
    let common = &options.common;
    let report = Arc::new(Report::of_server(common.json_file(), common.quiet)?);

    let asked = signals::asked_to_end()?;
    let hangups = signals::Hangups::new()?;
    let listener = match inherited {
        Some(socket) => {
            let socket = socket.set_nonblocking(true).and_then(|()| TcpListener::from_std(socket));
            socket.map_err(|error| ProgramError::failed("the socket of LISTEN_FDS", error))?
        }
        None => {
            let listener = TcpListener::bind(options.listen).await;
            listener.map_err(|error| cannot_listen(options.listen, &error))?
        }
    };
    let address = listener.local_addr();
    let address = address.map_err(|error| ProgramError::failed(options.listen, error))?;
    let fast_open = options.tcp_fast_open.then(|| accept_on(&listener, PENDING));
    let certificate = config.credentials.first().and_then(|credential| credential.chain.first());
    report.print(&Listening {
        address,
        fingerprint: certificate.map(|der| fingerprint(der)),
        self_signed: fresh.is_some(),
        is_kept: fresh.as_ref().is_some_and(|fresh| fresh.is_kept),
        fast_open: fast_open.as_ref().map(|done| if done.is_ok() { "on" } else { "off" }),
        fast_open_lacks: fast_open.and_then(Result::err).map(|error| error.to_string()),
    });
    if let Some(found) = &found {
        report.print(found);
    }
    let certificates = stores.certificates.clone();
    let certificates = certificates.map(|kept| Arc::new(Certificates::new(kept, report.clone())));
    // If the address can't be reported, end before a client connects.
    report.settle()?;

    let acceptor = Acceptor::new(config);
    let server = Server::new(listener, acceptor.clone(), limits(options));
    let reloading = {
        let options = options.clone();
        let live = LiveConfig::new(acceptor, move || configure_again(&options, &lasting));
        let certificates = certificates.clone();
        tokio::spawn(reload::on(hangups, Arc::new(live), certificates, report.clone()))
    };
    let counts = server.counts();
    let keeping = tokio::spawn(stores.clone().keep(report.clone()));
    let refusals = Arc::new(Refusals::new(counts, report.clone()));
    let telling = tokio::spawn(refusals.clone().tell());
    let caching = certificates.clone().map(|it| tokio::spawn(it.keep()));
    let (answer, idle) = (options.answer, options.idle_timeout);
    let shared = report.clone();
    server
        .run(asked, move |accepted| {
            let report = shared.clone();
            async move { connection::serve(accepted, answer, idle, &report).await }
        })
        .await;
    keeping.abort();
    telling.abort();
    reloading.abort();
    if let Some(caching) = caching {
        caching.abort();
    }
    refusals.tell_news();
    if let Some(certificates) = certificates {
        certificates.tell_news();
    }
    report.finish()
}

/// Returns the library's limits, adapted to the options.
fn limits(options: &ServeOptions) -> Limits {
    // Reserve some files for other uses.
    let files = usize::try_from(open_files::raise()).unwrap_or(usize::MAX);
    let most = options.max_connections.min(files.saturating_sub(64));
    let mut limits = Limits::for_connections(most);
    if let Some(count) = options.max_connections_per_address {
        // Never more than the total, which a low limit of open files may have reduced; and a larger share of
        // connections doesn't raise that of handshakes.
        limits.connections_per_address = count.min(most);
        limits.handshakes_per_address = count.min(limits.handshakes_per_address);
    }
    limits.idle = options.idle_timeout;
    limits.write = options.write_timeout;
    limits.drain = GOODBYES;
    limits
}

fn cannot_listen(address: SocketAddr, error: &io::Error) -> ProgramError {
    ProgramError::Failed(match error.kind() {
        ErrorKind::AddrInUse => format!(
            "{address}: another program already listens there; stop it, or use another port: \
             --listen {}:0 picks a free one",
            address.ip()
        ),
        ErrorKind::PermissionDenied => {
            format!(
                "{address}: ports below 1024 need privileges; use another: --listen {}:4433",
                address.ip()
            )
        }
        ErrorKind::AddrNotAvailable => format!(
            "{address}: this machine doesn't have that address; --listen 0.0.0.0:{} listens on all it has",
            address.port()
        ),
        _ => format!("{address}: {error}"),
    })
}

/// The first fact: the server listens.
#[derive(Serialize)]
struct Listening {
    address: SocketAddr,
    /// The SHA-256 of the server's certificate.
    fingerprint: Option<String>,
    self_signed: bool,
    /// For people only: the fact about the state names its directory.
    #[serde(skip)]
    is_kept: bool,
    /// Whether data in SYNs is accepted; `None` if the options don't ask for it.
    fast_open: Option<&'static str>,
    /// Why it isn't.
    fast_open_lacks: Option<String>,
}

impl Fact for Listening {
    const EVENT: &'static str = "listening";
}

impl fmt::Display for Listening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "listening on {}", self.address)?;
        if let Some(fingerprint) = &self.fingerprint {
            write!(f, "\ncertificate SHA-256 {fingerprint}")?;
            if self.self_signed {
                let how =
                    if self.is_kept { "made once, kept in the state" } else { "made for this run" };
                write!(
                    f,
                    " ({how})\ntrust it with: tessera connect {} --fingerprint {fingerprint}",
                    self.address
                )?;
            }
        }
        match &self.fast_open_lacks {
            Some(error) => write!(f, "\nno TCP Fast Open: {error}"),
            None => Ok(()),
        }
    }
}

/// How many Fast Open clients may have an incomplete TCP handshake. Further ones begin without Fast Open.
const PENDING: NonZeroU16 = NonZeroU16::MIN.saturating_add(255);

/// How long handshakes, answers and closes in progress may take at the end.
const GOODBYES: Duration = Duration::from_secs(10);
