//! The servers: axum over both kinds of TLS, in one process.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::get;
use axum::serve::Listener;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tessera::ServerConfig;
use tessera::resume::OneTimeKeyGuard;
use tessera_interop::Identity;
use tessera_tokio::{Acceptor, Limits, Server, TlsListener};
use tessera_vault::{MemoryVault, RotatingRing};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::Failure;

/// When each request arrived at the application.
#[derive(Clone, Default)]
pub(crate) struct Arrivals(Arc<Mutex<HashMap<u64, Instant>>>);

impl Arrivals {
    fn note(&self, number: u64) {
        let now = Instant::now();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(number, now);
    }

    pub(crate) fn of(&self, number: u64) -> Option<Instant> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&number)
    }
}

/// Serves until one of them fails; reports the addresses, rustls first.
pub(crate) async fn serve(
    at: IpAddr,
    identity: &Identity,
    arrivals: Arrivals,
    listening: impl FnOnce([SocketAddr; 2]),
) -> Result<(), Failure> {
    let service = Router::new()
        .route(
            "/{number}",
            get(async |State(arrivals): State<Arrivals>, Path(number): Path<u64>| {
                arrivals.note(number);
            }),
        )
        .with_state(arrivals);
    let (rustls, tessera) = (TcpListener::bind((at, 0)).await?, TcpListener::bind((at, 0)).await?);
    listening([rustls.local_addr()?, tessera.local_addr()?]);
    let rustls = RustlsListener::new(rustls, identity)?;
    let acceptor = Acceptor::new(config(identity).checked()?);
    let tessera = TlsListener::new(Server::new(tessera, acceptor, Limits::default()));
    let (rustls, tessera) =
        tokio::join!(axum::serve(rustls, service.clone()), axum::serve(tessera, service));
    Ok(rustls.and(tessera)?)
}

fn config(identity: &Identity) -> ServerConfig {
    let provider = tessera_aws_lc::provider();
    let mut config = ServerConfig::new(provider, vec![identity.credential()]);
    config.protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config.tickets = Some(Arc::new(RotatingRing::new(&provider)));
    let guard = OneTimeKeyGuard::new(Arc::new(MemoryVault::new(10_000)));
    config.policy.early_data.forward_secret = Some(guard);
    config
}

/// tokio-rustls as a listener: a task for each handshake, as in Tessera's.
struct RustlsListener {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    handshakes: JoinSet<io::Result<(TlsStream<TcpStream>, SocketAddr)>>,
}

impl RustlsListener {
    fn new(listener: TcpListener, identity: &Identity) -> Result<Self, Failure> {
        let chain = identity.chain.iter().cloned().map(CertificateDer::from).collect();
        let key = PrivateKeyDer::Pkcs8(identity.key.clone().into());
        let mut config =
            rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        config.ticketer = rustls::crypto::aws_lc_rs::Ticketer::new()?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Ok(Self { listener, acceptor, handshakes: JoinSet::new() })
    }
}

impl Listener for RustlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            tokio::select! {
                Some(Ok(Ok(through))) = self.handshakes.join_next() => return through,
                Ok((socket, address)) = self.listener.accept() => {
                    let _ = socket.set_nodelay(true);
                    let accepting = self.acceptor.accept(socket);
                    self.handshakes.spawn(async move { Ok((accepting.await?, address)) });
                }
                else => tokio::task::yield_now().await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}
