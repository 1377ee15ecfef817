//! The client.

use std::net::SocketAddr;

use http::Uri;
use http::uri::PathAndQuery;
use hyper_util::rt::TokioIo;
use tessera::Destination;
use tessera_tokio::Connector;
use tokio::net::TcpStream;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use tonic_prost::ProstCodec;

use crate::{HELLO, HelloReply, HelloRequest, SERVER_NAME};

/// A channel whose connections are Tessera's. When one ends, tonic makes another, which resumes the
/// session that the connector's store has by then.
pub async fn channel(
    address: SocketAddr,
    connector: Connector,
) -> Result<Channel, tonic::transport::Error> {
    let connect = move |_: Uri| {
        let connector = connector.clone();
        async move {
            let socket = TcpStream::connect(address).await?;
            socket.set_nodelay(true)?;
            let to = Destination { server_name: SERVER_NAME.into(), ..Default::default() };
            let stream = connector.connect(to, socket).await?;
            Ok::<_, std::io::Error>(TokioIo::new(stream))
        }
    };
    // tonic has TLS of its own for `https`, which isn't wanted here; the scheme says no more.
    let endpoint = Endpoint::try_from(format!("http://{SERVER_NAME}"))?;
    endpoint.connect_with_connector(tower::service_fn(connect)).await
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
