//! The example works: calls through both kinds of connections, and errors of gRPC.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use http::uri::PathAndQuery;
use tessera::resume::ClientSession;
use tessera_example_grpc::{HelloReply, HelloRequest, channel, configurations, hello, serve};
use tessera_tokio::{Acceptor, Connector, MemorySessionStore, SessionStore};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tonic::{Code, Request};
use tonic_prost::ProstCodec;

/// Tells when a session came: it is stored by another thread.
#[derive(Default)]
struct Telling {
    store: MemorySessionStore,
    came: Notify,
}

impl SessionStore for Telling {
    fn put(&self, server_name: &str, session: ClientSession) {
        self.store.put(server_name, session);
        self.came.notify_one();
    }

    fn pop(&self, server_name: &str) -> Option<ClientSession> {
        self.store.pop(server_name)
    }
}

#[tokio::test]
async fn the_second_grpc_connection_is_resumed() {
    let configurations = configurations().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, Acceptor::new(configurations.server)));
    let sessions = Arc::new(Telling::default());
    let connector = Connector::new(configurations.client).with_sessions(sessions.clone());
    for (name, resumed) in [("Ada", false), ("Grace", true)] {
        let channel = channel(address, connector.clone()).await.unwrap();
        for _ in 0..3 {
            let greeting = format!("Hello, {name}!");
            assert_eq!(hello(&channel, name).await.unwrap(), HelloReply { greeting, resumed });
        }
        sessions.came.notified().await;
    }
    // A message of many records, both ways.
    let channel = channel(address, connector).await.unwrap();
    let long = "x".repeat(1 << 20);
    assert_eq!(hello(&channel, &long).await.unwrap().greeting.len(), long.len() + 8);

    let mut grpc = tonic::client::Grpc::new(channel);
    grpc.ready().await.unwrap();
    let codec = ProstCodec::<HelloRequest, HelloReply>::default();
    let nowhere = PathAndQuery::from_static("/greeter.Greeter/Goodbye");
    let refused = grpc.unary(Request::new(HelloRequest::default()), nowhere, codec).await;
    assert_eq!(refused.unwrap_err().code(), Code::Unimplemented);
}
