//! `tonic-server CHAIN KEY ADDRESS`

use std::convert::Infallible;
use std::env::args;
use std::error::Error;

use tessera_example_library::acceptor;
use tessera_example_library::greeter::{HelloReply, HelloRequest};
use tessera_tokio::tonic::incoming;
use tessera_tokio::{Limits, Server, StreamInfo, TlsListener};
use tokio::net::TcpListener;
use tonic::body::Body;
use tonic::server::Grpc;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;
use tower::service_fn;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let [_, chain, key, address] = &args().collect::<Vec<_>>()[..] else {
        return Err("CHAIN KEY ADDRESS".into());
    };
    let socket = TcpListener::bind(address).await?;
    println!("listening on {}", socket.local_addr()?);
    let acceptor = acceptor(chain.as_ref(), key.as_ref())?;
    let listener = TlsListener::new(Server::new(socket, acceptor, Limits::default()));
    // If protoc generates your service, call `add_service` with it, and `serve_with_incoming` on the result.
    let service = service_fn(greet);
    tonic::transport::Server::builder().serve_with_incoming(service, incoming(listener)).await?;
    Ok(())
}

async fn hello(request: Request<HelloRequest>) -> Result<Response<HelloReply>, Status> {
    let client = request.extensions().get::<StreamInfo>();
    let client = client.ok_or_else(|| Status::internal("not from this listener"))?;
    let greeting = format!("early data: {:?}", client.facts.early_data);
    Ok(Response::new(HelloReply { greeting }))
}

async fn greet(request: http::Request<Body>) -> Result<http::Response<Body>, Infallible> {
    let codec = ProstCodec::<HelloReply, HelloRequest>::default();
    Ok(Grpc::new(codec).unary(service_fn(hello), request).await)
}
