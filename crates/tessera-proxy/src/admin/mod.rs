//! Metrics and health for the operator, over HTTP.

mod connection;
mod health;
mod labelled;
mod metrics;
mod places;
mod process;
mod request;
mod response;
mod routes;

use std::convert::Infallible;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::yield_now;

/// The metric types that [`Metrics`] takes.
pub use prometheus_client;

pub use self::health::{Condition, Health};
pub use self::labelled::{CounterFamily, Counters, Families, GaugeGuard, Gauges, Label, Labels};
pub use self::metrics::Metrics;
pub use self::routes::{Answer, Routes};

use self::places::{IdleMark, Places};

/// The most connections at a time.
const CONNECTIONS: usize = 64;

/// Answers GET and HEAD for `/metrics` (OpenMetrics), `/healthz` (200 while the process answers) and `/readyz` (200, or
/// 503 with the reasons), and the product's own `routes`, on the connections that `accept` returns, while it is polled.
/// There is no authentication: use a listener that only operators can reach. Every client that can connect can also
/// request what a POST does.
///
/// There are at most 64 connections. A new one replaces the connection that has waited longest for a request, so idle
/// clients can't keep others out. A request is limited to 8 KiB, and to 5 seconds from its first byte; an answer to 10
/// seconds.
///
/// ```no_run
/// use tessera_proxy::admin::{self, Health, Metrics, Routes};
/// use tokio::net::TcpListener;
///
/// # async fn example() -> std::io::Result<()> {
/// let listener = TcpListener::bind("127.0.0.1:9464").await?;
/// let accept = async || loop {
///     if let Ok((socket, _)) = listener.accept().await {
///         return socket;
///     }
/// };
/// admin::serve(accept, Metrics::new(), Health::new(), Routes::new()).await;
/// # Ok(())
/// # }
/// ```
pub async fn serve<F: Future>(
    accept: impl Fn() -> F,
    metrics: Metrics,
    health: Health,
    routes: Routes,
) -> Infallible
where
    F::Output: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let served = Arc::new(AdminState { metrics, health, routes });
    let mut places = Places::new(CONNECTIONS);
    loop {
        let io = accept().await;
        let served = served.clone();
        let serve = |waiting: Arc<IdleMark>| async move {
            // An error of one client concerns no other.
            let _ = connection::serve(io, &served, &waiting).await;
        };
        places.give(serve).await;
        // Let it read a request before the next connection can replace it.
        yield_now().await;
    }
}

/// The state behind all answers.
#[derive(Default)]
struct AdminState {
    metrics: Metrics,
    health: Health,
    routes: Routes,
}
