//! An echo server on a separate thread.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::runtime;

use crate::BoxResult;

pub fn start() -> BoxResult<SocketAddr> {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let ended = serve(&tell);
        eprintln!("the server ended: {ended:?}");
    });
    Ok(told.recv()?)
}

fn serve(tell: &mpsc::Sender<SocketAddr>) -> BoxResult {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        tell.send(listener.local_addr()?)?;
        loop {
            let (socket, _) = listener.accept().await?;
            socket.set_nodelay(true)?;
            let server = Builder::new(TokioExecutor::new());
            tokio::spawn(server.serve_connection(TokioIo::new(socket), service_fn(echo)));
        }
    })
}

async fn echo(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await;
    Ok(Response::new(Full::new(body.map(|body| body.to_bytes()).unwrap_or_default())))
}
