use std::net::TcpListener as StdListener;
use std::os::unix::net::UnixListener;
use std::{env, fs, process};

use socket2::{Domain, SockAddr, Socket as RawSocket, Type};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::socket::Peer;

const SECOND: Duration = Duration::from_secs(1);

fn dialler(address: &str) -> Dialler {
    let options = DialOptions { deadline: 6 * SECOND, ..DialOptions::default() };
    Dialler::new(address.parse().unwrap(), options)
}

fn in_six_seconds() -> Instant {
    Instant::now() + 6 * SECOND
}

/// A closed port, which refuses connections.
fn refused() -> SocketAddr {
    let listener = StdListener::bind("127.0.0.2:0").unwrap();
    listener.local_addr().unwrap()
}

/// A full accept queue: the kernel drops SYNs.
struct FullQueue {
    address: SocketAddr,
    _queue: (RawSocket, Vec<RawSocket>),
}

impl FullQueue {
    fn new() -> Self {
        let listener = RawSocket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        listener.bind(&SocketAddr::from(([127, 0, 0, 3], 0)).into()).unwrap();
        listener.listen(0).unwrap();
        let address = listener.local_addr().unwrap();
        let clients: Vec<_> = (0..4)
            .map(|_| {
                let client = RawSocket::new(Domain::IPV4, Type::STREAM, None).unwrap();
                client.set_nonblocking(true).unwrap();
                let _ = client.connect(&address);
                client
            })
            .collect();
        Self { address: address.as_socket().unwrap(), _queue: (listener, clients) }
    }
}

fn told(dialler: &Dialler, tried: Vec<Attempt>) -> String {
    DialError::new(dialler.address().clone(), tried).to_string()
}

#[tokio::test(start_paused = true)]
async fn a_dead_address_costs_its_share_once_and_the_next_is_taken() {
    let (silent, refused) = (FullQueue::new(), refused());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let alive = listener.local_addr().unwrap();
    let dialler = dialler("db.example:1");
    let addresses = vec![refused, silent.address, alive];

    let began = Instant::now();
    let socket = dialler.dial_each(addresses.clone(), in_six_seconds()).await.unwrap();
    assert_eq!(socket.peer().unwrap(), Peer::Tcp(alive));
    // The refusal came at once: the second address got half of six seconds.
    assert_eq!(began.elapsed(), 3 * SECOND);

    let began = Instant::now();
    let socket = dialler.dial_each(addresses, in_six_seconds()).await.unwrap();
    assert_eq!(socket.peer().unwrap(), Peer::Tcp(alive));
    assert_eq!(began.elapsed(), Duration::ZERO, "those that failed are last now");
}

#[tokio::test(start_paused = true)]
async fn an_error_names_each_address_and_comes_at_the_deadline() {
    let (silent, refused) = (FullQueue::new(), refused());
    let dialler = dialler("db.example:1");
    let began = Instant::now();
    let tried = dialler.dial_each(vec![refused, silent.address], in_six_seconds()).await;
    assert_eq!(began.elapsed(), 6 * SECOND);
    let told = told(&dialler, tried.unwrap_err());
    let [first, second] = told.split("; ").collect::<Vec<_>>().try_into().unwrap();
    assert!(first.starts_with(&format!("db.example:1: {refused}: Connection refused")), "{told}");
    assert_eq!(second, format!("{}: no answer within 6.0 s", silent.address));
}

#[tokio::test(start_paused = true)]
async fn an_address_that_failed_is_tried_first_again_after_a_while() {
    let dialler = dialler("db.example:1");
    let [first, second] = [1, 2].map(|host| SocketAddr::from(([192, 0, 2, host], 1)));
    let order = || {
        let mut addresses = [first, second];
        dialler.failures.to_the_end(&mut addresses);
        addresses
    };
    assert_eq!(order(), [first, second]);
    dialler.avoid(first);
    assert_eq!(order(), [second, first]);
    tokio::time::advance(10 * SECOND).await;
    assert_eq!(order(), [first, second]);
    // Too many open files is this machine's fault, not the address's.
    dialler.failures.note_if_its_own(first, &io::Error::from_raw_os_error(24));
    assert_eq!(order(), [first, second]);
}

#[tokio::test]
async fn names_are_looked_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    // Its other addresses, such as ::1, refuse.
    let mut socket = dialler(&format!("localhost:{port}")).dial().await.unwrap();
    let (mut accepted, _) = listener.accept().await.unwrap();
    socket.write_all(b"x").await.unwrap();
    assert_eq!(accepted.read_u8().await.unwrap(), b'x');
    let Socket::Tcp(socket) = socket else { panic!("it is TCP") };
    assert!(socket.nodelay().unwrap());
    // Resolvers never query the network for such names (RFC 6761 §6.4).
    let error = dialler("absent.invalid:1").dial().await.unwrap_err().to_string();
    assert!(error.starts_with("absent.invalid:1: ") && error.len() > 20, "{error}");
}

#[tokio::test]
async fn an_address_is_named_once() {
    let address = refused();
    let error = dialler(&address.to_string()).dial().await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    assert_eq!(error.to_string().matches(&address.to_string()).count(), 1, "{error}");
}

#[tokio::test]
async fn a_unix_socket_whose_queue_is_full_is_waited_for() {
    let path = env::temp_dir().join(format!("tessera-proxy-{}-queue", process::id()));
    let listener = RawSocket::new(Domain::UNIX, Type::STREAM, None).unwrap();
    listener.bind(&SockAddr::unix(&path).unwrap()).unwrap();
    listener.listen(0).unwrap();
    let listener: UnixListener = listener.into();
    let dialler = dialler(&format!("unix:{}", path.display()));
    let first = dialler.dial().await.unwrap();
    assert_eq!(first.peer().unwrap(), Peer::Local);
    let full = UnixStream::connect(&path).await.unwrap_err();
    assert_eq!(full.kind(), io::ErrorKind::WouldBlock);

    let second = tokio::spawn(async move { dialler.dial().await });
    tokio::task::yield_now().await;
    let (_first, _) = listener.accept().unwrap();
    assert!(second.await.unwrap().is_ok());
    fs::remove_file(&path).unwrap();
}

#[tokio::test]
async fn a_unix_socket_without_a_listener_is_an_error_that_names_it() {
    let error = dialler("unix:/nowhere/x.sock").dial().await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert!(error.to_string().starts_with("unix:/nowhere/x.sock: "), "{error}");
}
