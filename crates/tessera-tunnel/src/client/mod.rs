//! The client end of a tunnel: programs connect to it, and it carries each connection to the server in its own TLS
//! connection.
//!
//! With a ticket, a program's first bytes travel as early data, forward-secret and accepted at most once. If the server
//! rejects them and they can't have been executed, the client end sends them again, once. If they may have been
//! executed, it resets the program's connection and sends nothing again; the log names the flight, and what to do
//! ([`Judgement`](verdict::Judgement)).
//!
//! Unix sockets have no reset: a program there sees a plain end of stream, and its protocol must detect truncated
//! answers.

mod carrier;
mod connection;
mod load;
mod server;
pub mod spare;
pub mod verdict;

use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tessera_kit::live::LiveTarget;
use tessera_proxy::drain::{DrainSummary, accept_until, drain};
use tessera_proxy::gate::Gate;
use tessera_proxy::listen::Listener;
use tessera_proxy::socket::Socket;
use tessera_tokio::{ClientStream, Connector, Origin, TimedSocket};

use self::connection::Connection;
pub use self::load::check;
use self::server::Server;
use self::spare::{Spare, SparePool};
use crate::metrics::TunnelMetrics;

/// The client end of one tunnel.
pub struct ClientEnd {
    tunnel: Arc<Tunnel>,
    live: LiveTarget<Connector>,
    spare: usize,
}

/// The state that its connections share.
struct Tunnel {
    name: String,
    server: Arc<Server>,
    gate: Gate,
    metrics: Arc<TunnelMetrics>,
    /// Set when it runs, if spare connections are configured.
    spare: OnceLock<SparePool<Arc<Server>>>,
}

impl Tunnel {
    fn spare(&self) -> Option<Spare<ClientStream<TimedSocket<Socket>>>> {
        self.spare.get()?.take()
    }
}

impl ClientEnd {
    /// Accepts connections until `end` is ready. Then it accepts those that are already in the queue, stops listening,
    /// gives open connections `limit` to end, and cuts the rest: their programs see a reset.
    pub async fn run(
        &self,
        listener: Listener,
        end: impl Future<Output = ()>,
        limit: Duration,
    ) -> DrainSummary {
        let tunnel = &self.tunnel;
        if self.spare > 0 {
            let pool = || SparePool::new(tunnel.server.clone(), self.spare, tunnel.metrics.clone());
            tunnel.spare.get_or_init(pool);
        }
        let handle = |admitted| Connection::new(tunnel.clone(), admitted).run();
        let mut connections = accept_until(end, listener, &tunnel.gate, Origin::from, handle).await;
        let close_spare = async {
            if let Some(pool) = tunnel.spare.get() {
                pool.close().await;
            }
        };
        tokio::join!(drain(&mut connections, limit), close_spare).0
    }
}

#[cfg(test)]
mod tests {
    use tessera_proxy::admin;
    use tessera_proxy::listen::{InheritedSockets, ListenOptions};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::config::ClientSection;
    use crate::metrics::Metrics;

    /// With Fast Open a dial succeeds even at a closed port: only the handshake fails.
    #[tokio::test]
    async fn an_address_where_tls_does_not_come_about_is_tried_last_next_time() {
        let elsewhere = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = elsewhere.local_addr().unwrap();
        tokio::spawn(async move { while elsewhere.accept().await.is_ok() {} });
        let connect = format!("localhost:{}", address.port()).parse().unwrap();
        let mut section = ClientSection::new("127.0.0.1:0".parse().unwrap(), connect);
        section.peers.fingerprints = vec!["a5".repeat(32)];
        section.tcp_fast_open = true;
        let metrics = Metrics::register(&admin::Metrics::new());
        let end = Arc::new(ClientEnd::load("test", &section, &metrics).unwrap());
        let options = ListenOptions::default();
        let listener =
            Listener::bind(&section.listen, options, &mut InheritedSockets::default()).unwrap();
        let local = listener.local_addrs().unwrap()[0];
        let running = end.clone();
        tokio::spawn(async move {
            running.run(listener, std::future::pending(), Duration::ZERO).await;
        });
        let failures = || format!("{:?}", end.tunnel.server.dialler);
        assert!(!failures().contains(&address.to_string()));
        let mut program = TcpStream::connect(local).await.unwrap();
        program.write_all(b"question").await.unwrap();
        assert!(program.read(&mut [0]).await.is_err());
        assert!(failures().contains(&address.to_string()), "{}", failures());
    }
}
