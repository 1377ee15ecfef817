//! The client.

use http::uri::PathAndQuery;
use tessera_tokio::Connector;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use tonic_prost::ProstCodec;

use crate::{HELLO, HelloReply, HelloRequest, SERVER_NAME};

/// Returns a channel over Tessera's connections. It connects when it is called. When a connection ends, tonic makes
/// another, whose first call travels as early data if the connector's store has a session by then.
pub fn channel(port: u16, connector: Connector) -> Result<Channel, tonic::transport::Error> {
    let endpoint = Endpoint::try_from(format!("http://{SERVER_NAME}:{port}"))?;
    Ok(endpoint.connect_with_connector_lazy(tessera_tokio::tonic::connector(connector)))
}

/// Calls the service.
pub async fn hello(channel: &Channel, name: &str) -> Result<HelloReply, Status> {
    let mut grpc = Grpc::new(channel.clone());
    grpc.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
    let request = Request::new(HelloRequest { name: name.into() });
    let codec = ProstCodec::<HelloRequest, HelloReply>::default();
    let reply = grpc.unary(request, PathAndQuery::from_static(HELLO), codec).await?;
    Ok(reply.into_inner())
}
