//! `tonic-client ROOTS URL`: calls twice, through two channels.

use std::env::args;
use std::error::Error;
use std::time::Duration;

use http::uri::PathAndQuery;
use tessera_example_library::connector;
use tessera_example_library::greeter::{HELLO, HelloReply, HelloRequest};
use tokio::time::sleep;
use tonic::Request;
use tonic::client::Grpc;
use tonic::transport::Endpoint;
use tonic_prost::ProstCodec;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let [_, roots, url] = &args().collect::<Vec<_>>()[..] else {
        return Err("ROOTS URL".into());
    };
    let connector = tessera_tokio::tonic::connector(connector(roots.as_ref())?);
    for _ in 0..2 {
        let endpoint = Endpoint::try_from(url.clone())?;
        let channel = endpoint.connect_with_connector_lazy(connector.clone());
        // With protoc, `GreeterClient::new(channel)` and `hello(request)` replace `Grpc`, `HELLO` and the codec.
        let mut greeter = Grpc::new(channel);
        greeter.ready().await?;
        let request = Request::new(HelloRequest { name: "Ada".into() });
        let codec = ProstCodec::<HelloRequest, HelloReply>::default();
        let reply = greeter.unary(request, PathAndQuery::from_static(HELLO), codec).await?;
        println!("{}", reply.into_inner().greeting);
        // Waits until the next ticket has arrived.
        sleep(Duration::from_millis(500)).await;
    }
    Ok(())
}
