//! Addresses from DNS, with a name server in this process.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use tessera_proxy::http::client::{
    CallErrorKind, Delivery, Plaintext, Pool, PoolOptions, Protocol, Srv,
};
use tokio::net::{TcpListener, UdpSocket};

use super::raw::{RawServer, ServerStep, call, get, ok};

/// A record: priority, weight, port, and a target of one label, or none for the root.
type Record = (u16, u16, u16, &'static str);

/// A name server that returns these records for every query, and the number of queries.
async fn name_server(records: Vec<Record>) -> (SocketAddr, Arc<AtomicUsize>) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    let asked = Arc::<AtomicUsize>::default();
    let counter = asked.clone();
    tokio::spawn(async move {
        let mut query = [0; 1024];
        loop {
            let (len, from) = socket.recv_from(&mut query).await.unwrap();
            counter.fetch_add(1, Ordering::SeqCst);
            socket.send_to(&answer(&query[..len], &records), from).await.unwrap();
        }
    });
    (address, asked)
}

/// RFC 1035 §4.1, RFC 2782.
fn answer(query: &[u8], records: &[Record]) -> Vec<u8> {
    let name = query[12..].iter().position(|byte| *byte == 0).unwrap();
    let question = &query[12..12 + name + 5];
    let mut message = query[..2].to_vec();
    // A response; NXDOMAIN if there are no records.
    message.extend([0x81, if records.is_empty() { 0x83 } else { 0x80 }]);
    message.extend([0, 1, 0, records.len() as u8, 0, 0, 0, 0]);
    message.extend(question);
    for (priority, weight, port, target) in records {
        // The question's name, SRV, IN, an hour.
        message.extend([0xc0, 12, 0, 33, 0, 1, 0, 0, 14, 16]);
        let mut labels = Vec::new();
        if !target.is_empty() {
            labels.push(target.len() as u8);
            labels.extend(target.bytes());
        }
        labels.push(0);
        message.extend((6 + labels.len() as u16).to_be_bytes());
        for number in [priority, weight, port] {
            message.extend(number.to_be_bytes());
        }
        message.extend(labels);
    }
    message
}

async fn pool_of(records: Vec<Record>) -> (Pool, Arc<AtomicUsize>) {
    let (address, asked) = name_server(records).await;
    let mut udp = ConnectionConfig::udp();
    udp.port = address.port();
    let server = NameServerConfig::new(Ipv4Addr::LOCALHOST.into(), true, vec![udp]);
    let config = ResolverConfig::from_parts(None, vec![], vec![server]);
    let resolver = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
    let srv = Srv::new("_n32c._tcp.peer.example.", resolver.build().unwrap());
    let connect = Arc::new(Plaintext(Protocol::Http2));
    (Pool::new(connect, srv, PoolOptions::default()), asked)
}

#[tokio::test]
async fn a_service_is_found_by_its_name_and_the_next_host_where_the_first_is_down() {
    let server = RawServer::start(|seen| ServerStep::write(ok(seen.stream))).await;
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let open = server.address.port();
    let (pool, asked) =
        pool_of(vec![(20, 1, open, "localhost"), (10, 1, closed, "localhost")]).await;
    for _ in 0..3 {
        let answer = pool.call(get(), call()).await.unwrap();
        assert_eq!(answer.address().to_string(), format!("localhost:{open}"));
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1, "the answer is valid for a while");
    assert_eq!(pool.status().addresses.len(), 2);
}

#[tokio::test]
async fn a_service_that_does_not_exist_or_is_not_offered_is_an_error_at_once() {
    for records in [vec![], vec![(0, 0, 0, "")]] {
        let (pool, _) = pool_of(records).await;
        let error = pool.call(get(), call()).await.unwrap_err();
        assert_eq!((error.kind, error.sent), (CallErrorKind::Unreachable, Delivery::Nothing));
        assert!(error.to_string().contains("_n32c._tcp.peer.example"), "{error}");
    }
}
