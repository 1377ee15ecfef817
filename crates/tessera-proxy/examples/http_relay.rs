//! A reverse proxy in plaintext: clients of HTTP/1.1 and HTTP/2, and their WebSockets, to one server of HTTP/1.1.
//!
//! `cargo run -p tessera-proxy --features http --example http_relay -- 127.0.0.1:8080 127.0.0.1:80`

use std::env;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, StatusCode};
use tessera_proxy::http::body::Body;
use tessera_proxy::http::client::{
    Call, CallError, Plaintext, Pool, PoolOptions, Protocol, UpgradeOutcome,
};
use tessera_proxy::http::deadline::Deadline;
use tessera_proxy::http::server::{
    AcceptedConnection, ServerOptions, UpgradeOptions, UpgradeRequest, serve,
};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [listen, forward] = arguments.as_slice() else {
        return Err("two addresses: where to listen, and where to connect to".into());
    };
    let address: tessera_proxy::address::DialAddress = forward.parse()?;
    let connect = Arc::new(Plaintext(Protocol::Http1));
    let pool = Pool::new(connect, address, PoolOptions::default());
    let options =
        ServerOptions { upgrades: Some(UpgradeOptions::default()), ..ServerOptions::default() };
    let options = Arc::new(options);
    let listener = TcpListener::bind(listen).await?;
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let (pool, options) = (pool.clone(), options.clone());
        tokio::spawn(async move {
            let service = |request| {
                let pool = pool.clone();
                async move { forward_to(&pool, request).await.unwrap_or_else(bad_gateway) }
            };
            let accepted = AcceptedConnection::plaintext(socket);
            let ended = serve(accepted, options, service, std::future::pending()).await;
            eprintln!("{} requests: {}", ended.requests, ended.cause);
        });
    }
}

async fn forward_to(pool: &Pool, mut request: Request<Body>) -> Result<Response<Body>, CallError> {
    let deadline = Deadline::after(Duration::from_secs(10));
    let Some(upgrade) = UpgradeRequest::take(&mut request) else {
        return Ok(pool.call(request, Call::until(deadline)).await?.response);
    };
    Ok(match pool.upgrade(request, upgrade.protocol(), deadline).await?.outcome {
        UpgradeOutcome::Switched(response, stream) => upgrade.accept(response, stream),
        UpgradeOutcome::Refused(response) => response,
    })
}

fn bad_gateway(error: CallError) -> Response<Body> {
    let mut response = Response::new(Body::full(format!("{error}\n").into()));
    *response.status_mut() = StatusCode::BAD_GATEWAY;
    response
}
