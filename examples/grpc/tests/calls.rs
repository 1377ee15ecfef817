//! The example works: calls through both kinds of connections, and errors of gRPC.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use http::Uri;
use http::uri::PathAndQuery;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tessera::resume::ClientSession;
use tessera_example_grpc::{HelloReply, HelloRequest, channel, configurations, hello, serve};
use tessera_tokio::{Acceptor, Connector, Limits, MemorySessionStore, Server, SessionStore};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio_rustls::TlsConnector;
use tonic::transport::Endpoint;
use tonic::{Code, Request};
use tonic_prost::ProstCodec;

/// Signals a new session, which another thread stores.
#[derive(Default)]
struct SignallingStore {
    store: MemorySessionStore,
    came: Notify,
}

impl SessionStore for SignallingStore {
    fn put(&self, server_name: &str, session: ClientSession) {
        self.store.put(server_name, session);
        self.came.notify_one();
    }

    fn pop(&self, server_name: &str) -> Option<ClientSession> {
        self.store.pop(server_name)
    }
}

#[tokio::test]
async fn the_first_call_of_the_second_connection_travels_as_early_data() {
    let configurations = configurations().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = Acceptor::new(configurations.server);
    tokio::spawn(serve(Server::new(listener, acceptor, Limits::default())));
    let sessions = Arc::new(SignallingStore::default());
    let connector = Connector::new(configurations.client).with_sessions(sessions.clone());
    for (name, again) in [("Ada", false), ("Grace", true)] {
        let channel = channel(address.port(), connector.clone()).unwrap();
        for _ in 0..3 {
            let greeting = format!("Hello, {name}!");
            let reply = HelloReply { greeting, resumed: again, early: again };
            assert_eq!(hello(&channel, name).await.unwrap(), reply);
        }
        sessions.came.notified().await;
    }
    // A message of many records, both ways.
    let channel = channel(address.port(), connector).unwrap();
    let long = "x".repeat(1 << 20);
    assert_eq!(hello(&channel, &long).await.unwrap().greeting.len(), long.len() + 8);

    let mut grpc = tonic::client::Grpc::new(channel);
    grpc.ready().await.unwrap();
    let codec = ProstCodec::<HelloRequest, HelloReply>::default();
    let nowhere = PathAndQuery::from_static("/greeter.Greeter/Goodbye");
    let refused = grpc.unary(Request::new(HelloRequest::default()), nowhere, codec).await;
    assert_eq!(refused.unwrap_err().code(), Code::Unimplemented);
}

/// tonic's client over rustls, which most Rust programs use.
#[tokio::test]
async fn a_client_with_rustls_is_served() {
    let configurations = configurations().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = Acceptor::new(configurations.server);
    tokio::spawn(serve(Server::new(listener, acceptor, Limits::default())));

    let mut roots = rustls::RootCertStore::empty();
    roots.add(configurations.root.into()).unwrap();
    let client = rustls::ClientConfig::builder().with_root_certificates(roots);
    let mut client = client.with_no_client_auth();
    client.alpn_protocols = vec![b"h2".to_vec()];
    let tls = TlsConnector::from(Arc::new(client));
    let connect = move |_: Uri| {
        let tls = tls.clone();
        async move {
            let socket = TcpStream::connect(address).await?;
            let name = ServerName::try_from("localhost").unwrap();
            tls.connect(name, socket).await.map(TokioIo::new)
        }
    };
    let endpoint = Endpoint::from_static("http://localhost");
    let channel = endpoint.connect_with_connector_lazy(tower::service_fn(connect));
    for _ in 0..3 {
        let greeting = "Hello, Ada!".to_owned();
        let reply = HelloReply { greeting, resumed: false, early: false };
        assert_eq!(hello(&channel, "Ada").await.unwrap(), reply);
    }
}
