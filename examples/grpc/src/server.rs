//! The server.

use std::convert::Infallible;
use std::io;

use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tessera_tokio::Acceptor;
use tokio::net::{TcpListener, TcpStream};
use tonic::body::Body;
use tonic::server::Grpc;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

use crate::{HELLO, HelloReply, HelloRequest};

/// Serves every connection in a task of its own, until the listener fails.
pub async fn serve(listener: TcpListener, acceptor: Acceptor) -> io::Result<()> {
    loop {
        let (socket, from) = listener.accept().await?;
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            if let Err(error) = serve_one(socket, &acceptor).await {
                eprintln!("{from}: {error}");
            }
        });
    }
}

async fn serve_one(
    socket: TcpStream,
    acceptor: &Acceptor,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    socket.set_nodelay(true)?;
    let stream = acceptor.accept(socket).await?;
    let resumed = stream.facts().psk.is_some();
    let service =
        service_fn(
            move |request| async move { Ok::<_, Infallible>(answer(request, resumed).await) },
        );
    let server = http2::Builder::new(TokioExecutor::new());
    Ok(server.serve_connection(TokioIo::new(stream), service).await?)
}

async fn answer(request: http::Request<Incoming>, resumed: bool) -> http::Response<Body> {
    if request.uri().path() != HELLO {
        return Status::unimplemented("there is only Hello").into_http();
    }
    let hello = |request: Request<HelloRequest>| async move {
        let greeting = format!("Hello, {}!", request.into_inner().name);
        Ok(Response::new(HelloReply { greeting, resumed }))
    };
    let codec = ProstCodec::<HelloReply, HelloRequest>::default();
    Grpc::new(codec).unary(tower::service_fn(hello), request).await
}
