//! What a process tells its operator, over HTTP: metrics, and whether it is well.

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
pub use self::labelled::{Counters, Families, Gauges, Held, Label, Labelled, Labels};
pub use self::metrics::Metrics;
pub use self::routes::{Answer, Routes};

use self::places::{Places, Waiting};

/// As many connections are there at a time.
const CONNECTIONS: usize = 64;

/// Answers GET and HEAD for `/metrics` (OpenMetrics), `/healthz` (200 while the process answers) and `/readyz` (200, or
/// 503 with the reasons), on connections that `accept` gives, for as long as it is polled. Whoever may connect may read
/// them: the listener is for operators alone.
///
/// There are at most 64 connections. One more takes the place of the one that has waited longest for a request, so
/// those who say nothing keep nobody out. A request has at most 8 KiB, and 5 seconds from its first byte; an answer
/// has 10 seconds.
///
/// ```no_run
/// use tessera_proxy::admin::{self, Health, Metrics};
/// use tokio::net::TcpListener;
///
/// # async fn example() -> std::io::Result<()> {
/// let listener = TcpListener::bind("127.0.0.1:9464").await?;
/// let accept = async || loop {
///     if let Ok((socket, _)) = listener.accept().await {
///         return socket;
///     }
/// };
/// admin::serve(accept, Metrics::new(), Health::new()).await;
/// # Ok(())
/// # }
/// ```
pub async fn serve<F: Future>(
    accept: impl Fn() -> F,
    metrics: Metrics,
    health: Health,
) -> Infallible
where
    F::Output: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    serve_with(accept, metrics, health, Routes::new()).await
}

/// The same, with what a product answers beside: whoever may connect may also ask for what a POST does.
pub async fn serve_with<F: Future>(
    accept: impl Fn() -> F,
    metrics: Metrics,
    health: Health,
    routes: Routes,
) -> Infallible
where
    F::Output: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let served = Arc::new(Served { metrics, health, routes });
    let mut places = Places::new(CONNECTIONS);
    loop {
        let io = accept().await;
        let served = served.clone();
        let serve = |waiting: Arc<Waiting>| async move {
            // Whoever fails to ask or to listen has harmed nobody else.
            let _ = connection::serve(io, &served, &waiting).await;
        };
        places.give(serve).await;
        // A connection may ask before the next one could take its place.
        yield_now().await;
    }
}

/// What all connections answer from.
#[derive(Default)]
struct Served {
    metrics: Metrics,
    health: Health,
    routes: Routes,
}
