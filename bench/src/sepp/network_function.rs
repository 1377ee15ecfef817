//! The network function behind the second proxy, which always sends the same answer; a separate process.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper::{Request, Response, header};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tessera_test_peers::{Network, Process, free_port};
use tokio::net::TcpListener;

use crate::Failure;
use crate::request::ANSWER;

/// The first argument that turns this program into one.
pub(crate) const ARGUMENT: &str = "network-function";

/// Starts one. It is killed when the value is dropped.
pub(crate) fn start() -> Result<(Process, SocketAddr), Failure> {
    let port = free_port()?;
    let program = std::env::current_exe()?;
    let program = program.to_str().ok_or("the program's path is not UTF-8")?;
    let arguments = [ARGUMENT.to_owned(), port.to_string()];
    let process =
        Process::start_compiled("network function", program, Network::Loopback, arguments);
    process.listens_on(port);
    Ok((process, (Ipv4Addr::LOCALHOST, port).into()))
}

/// Is one, on this port.
pub(crate) fn run(port: Option<String>) -> Result<(), Failure> {
    let port: u16 = port.ok_or("no port")?.parse()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        loop {
            let (socket, _) = listener.accept().await?;
            socket.set_nodelay(true)?;
            // The client sees and counts failed connections.
            tokio::spawn(
                Builder::new(TokioExecutor::new())
                    .max_concurrent_streams(1024)
                    .serve_connection(TokioIo::new(socket), service_fn(answer)),
            );
        }
    })
}

async fn answer(_request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::new(Bytes::from_static(ANSWER.as_bytes())));
    let json = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    Ok(response)
}
