//! Listens, and gives each connection its task.

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tessera_kit::credential::fingerprint;
use tessera_kit::report::Report;
use tessera_kit::{ProgramError, open_files, signals};
use tessera_tokio::Acceptor;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::config::{Configured, configure};
use super::connection::Server;
use super::ending::ending;
use super::stores::Stores;
use crate::options::ServeOptions;

pub(super) async fn serve(options: &ServeOptions) -> Result<(), ProgramError> {
    let stores = Stores::new(options.tickets.lifetime)?;
    let Configured { config, fresh } = configure(options, &stores)?;
    if let (Some(fresh), Some(path)) = (&fresh, &options.write_certificate) {
        fresh.write(path)?;
    }
    let common = &options.common;
    let report = Arc::new(Report::of_server(common.json_file(), common.quiet)?);

    let asked = signals::asked_to_end()?;
    let listener = TcpListener::bind(options.listen).await;
    let listener = listener.map_err(|error| cannot_listen(options.listen, &error))?;
    let address = listener.local_addr();
    let address = address.map_err(|error| ProgramError::failed(options.listen, error))?;
    let certificate = config.credentials.first().and_then(|credential| credential.chain.first());
    report.tell(&Listening {
        event: "listening",
        address,
        fingerprint: certificate.map(|der| fingerprint(der)),
        self_signed: fresh.is_some(),
    });

    // Some files are for others than clients.
    let files = usize::try_from(open_files::raise()).unwrap_or(usize::MAX);
    let most = options.max_connections.min(files.saturating_sub(64)).max(1);
    let most = most.min(u32::MAX as usize).min(Semaphore::MAX_PERMITS);
    let room = Arc::new(Semaphore::new(most));
    let (end, told) = ending();
    let server = Arc::new(Server {
        acceptor: Acceptor::new(config),
        answer: options.answer,
        report,
        ending: told,
    });
    let keeping = tokio::spawn(stores.keep());
    tokio::select! {
        () = accept(&listener, &server, &room) => (),
        () = asked => (),
    }
    keeping.abort();
    drop(listener);

    // Everybody is told, and has a moment to say goodbye.
    end.tell();
    let all_gone = room.acquire_many(most as u32);
    let _ = timeout(GOODBYES, all_gone).await;
    server.report.finish();
    Ok(())
}

async fn accept(listener: &TcpListener, server: &Arc<Server>, room: &Arc<Semaphore>) {
    loop {
        // Where there is no room, clients wait in the listener's queue.
        let Ok(permit) = room.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((socket, address)) => {
                let server = server.clone();
                tokio::spawn(async move {
                    server.serve(socket, address).await;
                    drop(permit);
                });
            }
            // A client that left before it was accepted is none of the others' business; without
            // files or memory a moment helps.
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => (),
            Err(_) => sleep(Duration::from_millis(10)).await,
        }
    }
}

fn cannot_listen(address: SocketAddr, error: &io::Error) -> ProgramError {
    ProgramError::Failed(match error.kind() {
        ErrorKind::AddrInUse => format!(
            "{address}: another program listens there; end it, or use another port: \
             --listen {}:0 takes a free one",
            address.ip()
        ),
        ErrorKind::PermissionDenied => {
            format!(
                "{address}: ports below 1024 need privileges; take another: --listen {}:4433",
                address.ip()
            )
        }
        ErrorKind::AddrNotAvailable => format!(
            "{address}: this machine doesn't have that address; --listen 0.0.0.0:{} listens on all",
            address.port()
        ),
        _ => format!("{address}: {error}"),
    })
}

/// The first thing that is told.
#[derive(Serialize)]
struct Listening {
    event: &'static str,
    address: SocketAddr,
    /// The SHA-256 of the server's certificate.
    fingerprint: Option<String>,
    self_signed: bool,
}

impl fmt::Display for Listening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "listening on {}", self.address)?;
        if let Some(fingerprint) = &self.fingerprint {
            write!(f, "\ncertificate SHA-256 {fingerprint}")?;
            if self.self_signed {
                write!(
                    f,
                    " (made for this run)\ntrust it with: tessera connect {} --fingerprint {fingerprint}",
                    self.address
                )?;
            }
        }
        Ok(())
    }
}

/// How long the last goodbyes may take.
const GOODBYES: Duration = Duration::from_secs(3);
