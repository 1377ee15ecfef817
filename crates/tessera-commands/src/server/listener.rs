//! Listens, and starts a task for each connection.

use std::net;
use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

use tessera_kit::credential::fingerprint;
use tessera_kit::live::LiveConfig;
use tessera_kit::report::Report;
use tessera_kit::state::StateContents;
use tessera_kit::{ProgramError, signals};
use tessera_tokio::fast_open::accept_on;
use tessera_tokio::{Acceptor, Limits, Server};

use super::certificates::Certificates;
use super::config::{ConfiguredServer, configure, configure_again};
use super::files::{files, files_for_datagrams};
use super::refusals::Refusals;
use super::socket::ServerSocket;
use super::stores::Stores;
use super::{connection, datagrams, reload};
use crate::certificate;
use crate::listening::Listening;
use crate::options::ServeOptions;

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
    let socket = ServerSocket::bind(options, inherited).await?;
    let address = socket.local_addr();
    let address = address.map_err(|error| ProgramError::failed(options.listen, error))?;
    let fast_open = match &socket {
        ServerSocket::Tcp(listener) if options.tcp_fast_open => Some(accept_on(listener, PENDING)),
        _ => None,
    };
    let certificate = certificate::of(&config.credentials);
    report.print(&Listening {
        address,
        is_udp: options.udp,
        fingerprint: certificate.map(|der| fingerprint(der)),
        self_signed: fresh.is_some(),
        is_kept: fresh.as_ref().is_some_and(|fresh| fresh.is_kept),
        fast_open: fast_open.as_ref().map(|done| if done.is_ok() { "on" } else { "off" }),
        fast_open_lacks: fast_open.and_then(Result::err).map(|error| error.to_string()),
        resets: options.udp.then(|| stores.reset_key().is_some()),
    });
    if let Some(found) = &found {
        report.print(found);
    }
    let certificates = stores.certificates.clone();
    let certificates = certificates.map(|kept| Arc::new(Certificates::new(kept, report.clone())));
    // If the address can't be reported, end before a client connects.
    report.settle()?;

    let acceptor = Acceptor::new(config);
    let reloading = {
        let (options, acceptor) = (options.clone(), acceptor.clone());
        let live = LiveConfig::new(acceptor, move || configure_again(&options, &lasting));
        let certificates = certificates.clone();
        tokio::spawn(reload::on(hangups, Arc::new(live), certificates, report.clone()))
    };
    let keeping = tokio::spawn(stores.clone().keep(report.clone()));
    let caching = certificates.clone().map(|it| tokio::spawn(it.keep()));
    let served = match socket {
        ServerSocket::Tcp(listener) => {
            let limits = limits(options, files(), &report)?;
            let server = Server::new(listener, acceptor, limits);
            run(server, options, asked, &report).await;
            Ok(())
        }
        ServerSocket::Udp(socket) => {
            let limits = limits(options, files_for_datagrams(options), &report)?;
            datagrams::serve(socket, &acceptor, options, limits, stores, asked, &report).await
        }
    };
    keeping.abort();
    reloading.abort();
    if let Some(caching) = caching {
        caching.abort();
    }
    if let Some(certificates) = certificates {
        certificates.tell_news();
    }
    served.and(report.finish())
}

/// Serves clients over TCP until it is asked to end.
async fn run(
    server: Server,
    options: &ServeOptions,
    asked: impl Future<Output = ()>,
    report: &Arc<Report>,
) {
    let refusals = Arc::new(Refusals::new(server.counts(), report.clone()));
    let telling = tokio::spawn(refusals.clone().tell());
    let (answer, idle) = (options.answer, options.idle_timeout);
    let shared = report.clone();
    server
        .run(asked, move |accepted| {
            let report = shared.clone();
            async move { connection::serve(accepted, answer, idle, &report).await }
        })
        .await;
    telling.abort();
    refusals.tell_news();
}

/// Returns the library's limits, adapted to the options and to the files that may be open.
fn limits(options: &ServeOptions, files: usize, report: &Report) -> Result<Limits, ProgramError> {
    let most = options.max_connections.min(files);
    let limited = || format!("at most {most} connections: no more files may be open (ulimit -n)");
    if most == 0 {
        return Err(ProgramError::Failed(limited()));
    }
    if most < options.max_connections.min(FEW) {
        report.line(&limited());
    }
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
    Ok(limits)
}

/// Fewer connections than this, for want of files, are worth a line.
const FEW: usize = 500;

/// How many Fast Open clients may have an incomplete TCP handshake. Further ones begin without Fast Open.
const PENDING: NonZeroU16 = NonZeroU16::MIN.saturating_add(255);

/// How long handshakes, answers and closes in progress may take at the end.
const GOODBYES: Duration = Duration::from_secs(10);
