//! The cost of a request: CPU time of the server's thread alone, over a plaintext HTTP/2 socket.
//!
//! `cargo run --profile dist -p tessera-proxy --features http --example http_cost -- [ours|hyper] [in flight] [seconds]`
//!
//! `ours` is [`tessera_proxy::http::server`]; `hyper` is hyper's own server with its defaults, which has a task for
//! each request and none of the limits.

mod load;

use std::convert::Infallible;
use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tessera_proxy::http::body::Body;
use tessera_proxy::http::server::{AcceptedConnection, ServerOptions, serve};
use tokio::net::TcpListener;
use tokio::runtime;

type BoxResult = Result<(), Box<dyn std::error::Error + Send + Sync>>;

fn main() -> BoxResult {
    let mut arguments = std::env::args().skip(1);
    let ours = arguments.next().is_none_or(|which| which == "ours");
    let in_flight = arguments.next().map_or(Ok(40), |count| count.parse())?;
    let seconds = arguments.next().map_or(Ok(5), |count| count.parse())?;

    let (address, addresses) = mpsc::channel();
    let server = thread::spawn(move || server(ours, &address));
    let (address, task) = addresses.recv()?;
    let load = load::Load { in_flight, time: Duration::from_secs(seconds) };
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    // The first second is a warm-up.
    runtime.block_on(load::Load { time: Duration::from_secs(1), ..load }.run(address))?;
    let before = cpu(&task)?;
    let requests = runtime.block_on(load.run(address))?;
    let spent = cpu(&task)? - before;
    println!(
        "{}: {requests} requests, {} ns of the server's CPU each",
        if ours { "ours" } else { "hyper" },
        spent.as_nanos() / u128::from(requests.max(1)),
    );
    drop(server);
    Ok(())
}

/// Returns a thread's CPU time, as counted by Linux.
fn cpu(task: &str) -> std::io::Result<Duration> {
    let line = fs::read_to_string(format!("{task}/schedstat"))?;
    let nanos = line.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Ok(Duration::from_nanos(nanos.unwrap_or(0)))
}

fn server(ours: bool, address: &mpsc::Sender<(SocketAddr, String)>) -> BoxResult {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let task = fs::read_link("/proc/thread-self")?;
        address.send((listener.local_addr()?, format!("/proc/{}", task.display())))?;
        let options = Arc::new(ServerOptions::default());
        loop {
            let (socket, _) = listener.accept().await?;
            socket.set_nodelay(true)?;
            if ours {
                let options = options.clone();
                tokio::spawn(async move {
                    serve(
                        AcceptedConnection::plaintext(socket),
                        options,
                        echo,
                        std::future::pending(),
                    )
                    .await
                });
            } else {
                let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                let service = hyper::service::service_fn(echo_by_hyper);
                tokio::spawn(server.serve_connection(TokioIo::new(socket), service));
            }
        }
    })
}

async fn echo(request: Request<Body>) -> Response<Body> {
    match request.into_body().collect_up_to(1 << 20).await {
        Ok(collected) => Response::new(Body::from(collected)),
        Err(_) => Response::new(Body::empty()),
    }
}

async fn echo_by_hyper(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let data = request.into_body().collect().await.map(|body| body.to_bytes());
    Ok(Response::new(Full::new(data.unwrap_or_default())))
}
