//! The server.

use std::convert::Infallible;

use tessera::EarlyDataStatus;
use tessera_tokio::tonic::incoming;
use tessera_tokio::{Server, StreamInfo, TlsListener};
use tonic::body::Body;
use tonic::server::Grpc;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

use crate::{HELLO, HelloReply, HelloRequest};

/// Serves every connection in its own task.
pub async fn serve(server: Server) -> Result<(), tonic::transport::Error> {
    let service = tower::service_fn(async |request| Ok::<_, Infallible>(answer(request).await));
    let clients = incoming(TlsListener::new(server));
    tonic::transport::Server::builder().serve_with_incoming(service, clients).await
}

async fn answer(request: http::Request<Body>) -> http::Response<Body> {
    if request.uri().path() != HELLO {
        return Status::unimplemented("there is only Hello").into_http();
    }
    let hello = async |request: Request<HelloRequest>| {
        let facts = request.extensions().get::<StreamInfo>().map(|client| client.facts.clone());
        let facts = facts.ok_or_else(|| Status::internal("a connection without facts"))?;
        let (resumed, early) = (facts.psk.is_some(), facts.early_data == EarlyDataStatus::Accepted);
        let greeting = format!("Hello, {}!", request.into_inner().name);
        Ok(Response::new(HelloReply { greeting, resumed, early }))
    };
    let codec = ProstCodec::<HelloReply, HelloRequest>::default();
    Grpc::new(codec).unary(tower::service_fn(hello), request).await
}
