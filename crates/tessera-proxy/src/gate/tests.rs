use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;
use std::{env, process};

use tessera_tokio::TimedOut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream, UnixStream};
use tokio::time::Instant;

use super::*;
use crate::listen::{InheritedSockets, ListenOptions};

const SECOND: Duration = Duration::from_secs(1);

fn listen(address: &str) -> Listener {
    let address = address.parse().unwrap();
    Listener::bind(&address, ListenOptions::default(), &mut InheritedSockets::default()).unwrap()
}

fn loopback() -> (Listener, SocketAddr) {
    let listener = listen("127.0.0.1:0");
    let address = listener.local_addrs().unwrap()[0];
    (listener, address)
}

async fn connect_from(ip: [u8; 4], to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((ip, 0).into()).unwrap();
    socket.connect(to).await.unwrap()
}

fn limits() -> GateLimits {
    GateLimits { places: Limits::for_connections(100), new_per_second_per_address: None }
}

/// Asserts that the gate has closed it.
async fn assert_closed(client: &mut (impl tokio::io::AsyncRead + Unpin)) {
    match client.read(&mut [0]).await {
        Ok(0) => (),
        Err(error) if error.kind() == ErrorKind::ConnectionReset => (),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_address_that_begins_too_many_is_refused_and_others_are_not() {
    let (listener, address) = loopback();
    let gate = Gate::new(GateLimits { new_per_second_per_address: NonZeroU32::new(2), ..limits() });
    let mut busy = Vec::new();
    for _ in 0..3 {
        busy.push(connect_from([127, 0, 0, 1], address).await);
    }
    let other = connect_from([127, 0, 0, 2], address).await;
    let mut admitted = Vec::new();
    for _ in 0..3 {
        admitted.push(gate.accept(&listener).await);
    }
    let peers: Vec<_> = admitted.iter().map(|admitted| admitted.peer).collect();
    let expected = [&busy[0], &busy[1], &other].map(|client| client.local_addr().unwrap().into());
    assert_eq!(peers, expected);
    assert_closed(&mut busy[2]).await;
    let counts = gate.counts();
    assert_eq!((counts.refused_rate, counts.since_start.accepted), (1, 3));
    assert_eq!((counts.connections, counts.handshakes), (3, 3));
}

#[tokio::test]
async fn all_programs_of_this_machine_are_one_address() {
    let path = env::temp_dir().join(format!("tessera-proxy-{}-gate", process::id()));
    let listener = listen(&format!("unix:{}", path.display()));
    let mut limits = limits();
    limits.places.connections_per_address = 1;
    let gate = Gate::new(limits);

    let first = UnixStream::connect(&path).await.unwrap();
    let admitted = gate.accept(&listener).await;
    assert_eq!((admitted.peer, admitted.socket.origin()), (Peer::Local, Origin::LOCAL));
    let mut second = UnixStream::connect(&path).await.unwrap();
    tokio::select! {
        biased;
        () = assert_closed(&mut second) => (),
        _ = gate.accept(&listener) => panic!("it has one already"),
    }
    drop((first, admitted));
    let _third = UnixStream::connect(&path).await.unwrap();
    gate.accept(&listener).await;
    assert_eq!(gate.counts().since_start.refused_connections, 1);
}

#[tokio::test]
async fn the_clients_of_a_load_balancer_have_their_own_limits() {
    let (listener, address) = loopback();
    let mut limits = limits();
    limits.places.connections_per_address = 2;
    limits.new_per_second_per_address = NonZeroU32::new(3);
    let gate = Gate::new(limits);
    let mut all = Vec::new();
    for _ in 0..5 {
        let balancer = connect_from([127, 0, 0, 1], address).await;
        all.push((balancer, gate.accept_as(&listener, |_| Origin::TRUSTED).await));
    }
    let client = Origin::from(std::net::IpAddr::from([192, 0, 2, 1]));
    let admitted: Vec<_> = all
        .iter_mut()
        .map(|(_, AdmittedClient { socket, handshake, .. })| {
            gate.admit_as(socket, handshake, client)
        })
        .collect();
    assert_eq!(admitted, [true, true, false, false, false]);
    let counts = gate.counts();
    // Three began within the second, and the third found no place.
    assert_eq!((counts.refused_rate, counts.since_start.refused_connections), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_reset() {
    let (listener, address) = loopback();
    let mut limits = limits();
    limits.places.write = 5 * SECOND;
    let gate = Gate::new(limits);
    let mut client = TcpStream::connect(address).await.unwrap();
    let AdmittedClient { mut socket, .. } = gate.accept(&listener).await;
    let error = loop {
        if let Err(error) = socket.write_all(&[0; 100_000]).await {
            break error;
        }
    };
    assert_eq!((error.kind(), socket.timed_out()), (ErrorKind::TimedOut, Some(TimedOut::Write)));
    drop(socket);
    let error = tokio::io::copy(&mut client, &mut tokio::io::sink()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert_eq!(gate.counts().since_start.stalled, 1);
}

#[tokio::test(start_paused = true)]
async fn a_backend_that_is_silent_ends_as_its_client_would() {
    let (listener, address) = loopback();
    let mut limits = limits();
    limits.places.idle = 60 * SECOND;
    let gate = Gate::new(limits);
    let mut backend = gate.time(Socket::Tcp(TcpStream::connect(address).await.unwrap()));
    let (_accepted, _) = listener.accept().await.unwrap();
    let began = Instant::now();
    let error = backend.read(&mut [0]).await.unwrap_err();
    assert_eq!((error.kind(), began.elapsed()), (ErrorKind::TimedOut, 60 * SECOND));
    assert_eq!((gate.counts().since_start.idle, gate.counts().connections), (1, 0));
}

/// The size of an idle connection here, without its timer.
#[test]
fn a_connection_is_small() {
    assert!(size_of::<ClientSocket<Socket>>() <= 160, "{}", size_of::<ClientSocket<Socket>>());
    assert!(size_of::<TimedSocket<Socket>>() <= 128, "{}", size_of::<TimedSocket<Socket>>());
    assert!(size_of::<Socket>() <= 48, "{}", size_of::<Socket>());
}

#[cfg(feature = "http")]
#[test]
fn http_connections_without_requests_count_as_idle_ones() {
    use crate::admin::Metrics;
    use crate::http::server::Cause;

    let gate = Gate::new(limits());
    [Cause::Closed, Cause::Idle, Cause::NoPong].iter().for_each(|cause| gate.count_end(cause));
    let (metrics, gates) = (Metrics::new(), Gates::new("x_"));
    gates.watch(&vec![("listener", "a".to_owned())], gate, Vec::new());
    metrics.register_collector(gates);
    let text = metrics.text();
    let idle = "x_timed_out_connections_total{listener=\"a\",limit=\"idle\"} 1\n";
    assert!(text.contains(idle), "{text}");
}
