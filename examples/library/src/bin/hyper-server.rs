//! `hyper-server CHAIN KEY ADDRESS`

use std::convert::Infallible;
use std::env::args;
use std::error::Error;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tessera_example_library::acceptor;
use tessera_tokio::{Limits, ListenerStream, Server, TlsListener};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let [_, chain, key, address] = &args().collect::<Vec<_>>()[..] else {
        return Err("CHAIN KEY ADDRESS".into());
    };
    let socket = TcpListener::bind(address).await?;
    println!("listening on {}", socket.local_addr()?);
    let acceptor = acceptor(chain.as_ref(), key.as_ref())?;
    let mut listener = TlsListener::new(Server::new(socket, acceptor, Limits::default()));
    loop {
        tokio::spawn(serve(listener.accept().await));
    }
}

async fn serve(client: ListenerStream) {
    let facts = client.info().facts.clone();
    let service = service_fn(move |_: Request<Incoming>| {
        let body = Full::new(Bytes::from(format!("early data: {:?}", facts.early_data)));
        async move { Ok::<_, Infallible>(Response::new(body)) }
    });
    let mut server = auto::Builder::new(TokioExecutor::new());
    // Makes hyper's limit of 30 seconds for a request's head take effect.
    server.http1().timer(TokioTimer::new());
    // The result is ignored: a client that disconnects, or doesn't speak HTTP, isn't an error here.
    let _ = server.serve_connection(TokioIo::new(client), service).await;
}
