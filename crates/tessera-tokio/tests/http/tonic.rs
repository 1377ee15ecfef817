//! gRPC with tonic at both ends.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::common::executed::{ExecutionCount, Sessions, relay};
use crate::common::{self, Ends, forward_secret};
use http::uri::PathAndQuery;
use hyper_util::client::legacy::connect::HttpConnector;
use tessera::resume::Verdict;
use tessera_tokio::hyper::{FlightReport, HttpsConnector};
use tessera_tokio::tonic::{connector, incoming};
use tessera_tokio::{Connector, Limits, Server, StreamInfo, TlsListener};
use tokio::net::TcpListener;
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Response, Status};
use tonic_prost::ProstCodec;

/// A server in this process, behind a relay that can swallow its answers.
struct Site {
    ends: Ends,
    executed: ExecutionCount,
    port: u16,
    swallows: Arc<AtomicBool>,
    sessions: Arc<Sessions>,
}

impl Site {
    async fn start(protocol: &[u8]) -> Self {
        let mut ends = forward_secret();
        // A name that the resolver knows and the verifier accepts.
        let names = common::ends_for("localhost");
        (ends.client.verifier, ends.server.credentials) =
            (names.client.verifier, names.server.credentials);
        ends.client.protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        ends.server.protocols = vec![protocol.to_vec()];
        let executed = ExecutionCount::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = listener.local_addr().unwrap();
        let listener = Server::new(listener, ends.acceptor(), Limits::for_connections(100));
        let noted = executed.clone();
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let noted = noted.clone();
            async move {
                let hello = async |request: Request<String>| {
                    noted.note(request.get_ref());
                    let client = request.extensions().get::<StreamInfo>().unwrap();
                    Ok::<_, Status>(Response::new(format!("{:?}", client.facts.early_data)))
                };
                let codec = ProstCodec::<String, String>::default();
                let mut grpc = tonic::server::Grpc::new(codec);
                Ok::<_, Infallible>(grpc.unary(tower::service_fn(hello), request).await)
            }
        });
        let clients = incoming(TlsListener::new(listener));
        let serving = tonic::transport::Server::builder().serve_with_incoming(service, clients);
        tokio::spawn(serving);
        let swallows = Arc::<AtomicBool>::default();
        let address = relay(server, swallows.clone(), executed.all.clone()).await;
        Self { ends, executed, port: address.port(), swallows, sessions: Arc::default() }
    }

    fn connector(&self) -> Connector {
        self.ends.connector().with_sessions(self.sessions.clone())
    }

    /// Makes a channel without connections.
    fn channel(&self, connector: HttpsConnector<HttpConnector>) -> Channel {
        let endpoint = Endpoint::try_from(format!("http://localhost:{}", self.port)).unwrap();
        endpoint.connect_with_connector_lazy(connector)
    }
}

async fn call(channel: &Channel, what: &str) -> Result<String, Status> {
    let mut grpc = tonic::client::Grpc::new(channel.clone());
    grpc.ready().await.map_err(|error| Status::unavailable(format!("{error:?}")))?;
    let codec = ProstCodec::<String, String>::default();
    let path = PathAndQuery::from_static("/any/Call");
    Ok(grpc.unary(Request::new(what.to_owned()), path, codec).await?.into_inner())
}

#[tokio::test]
async fn a_call_whose_answer_is_lost_is_executed_once_and_has_a_name() {
    let site = Site::start(b"h2").await;
    let first = site.channel(connector(site.connector()));
    assert_eq!(call(&first, "first").await.unwrap(), "NotOffered");
    site.sessions.come().await;

    site.swallows.store(true, Ordering::SeqCst);
    let reports: Arc<Mutex<Vec<FlightReport>>> = Arc::default();
    let kept = reports.clone();
    let reporting =
        connector(site.connector()).reporting(move |report| kept.lock().unwrap().push(report));
    let channel = site.channel(reporting);
    let status = call(&channel, "once").await.unwrap_err();
    let told = format!("{status:?}");
    assert!(told.contains("verdict unknown"), "{told}");
    let found = reports.lock().unwrap().iter().find_map(FlightReport::error).unwrap();
    assert_eq!(found.verdict(), Some(Verdict::Unknown));
    assert!(found.flight().is_some());
    // The channel continues.
    site.swallows.store(false, Ordering::SeqCst);
    call(&channel, "next").await.unwrap();
    let executed = ["first", "once", "next"].map(|what| site.executed.times(what));
    assert_eq!(executed, [1, 1, 1]);
}

#[tokio::test]
async fn a_server_without_http2_is_no_server_of_grpc() {
    let site = Site::start(b"http/1.1").await;
    let channel = site.channel(connector(site.connector()));
    let status = call(&channel, "nothing").await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert!(format!("{status:?}").contains("HTTP/2"), "{status:?}");
    assert_eq!(site.executed.times("nothing"), 0);
}
