//! Backends that refuse, hang or reset: their connection ends, no verdict is lost, and no other connection waits.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use socket2::SockRef;
use tessera_test_peers::PATIENCE;
use tessera_tunnel_tests::Pki;
use tessera_tunnel_tests::counting::{Client, CountingBackend, ask_once};
use tessera_tunnel_tests::free_address;
use tessera_tunnel_tests::tessera::{Tunnels, client_section, server_section};

use crate::TESSERA;

/// Both ends in one process: a tunnel for each backend.
struct Backends {
    tunnels: Tunnels,
    /// The address for programs, for each backend.
    addresses: Vec<SocketAddr>,
}

impl Backends {
    #[track_caller]
    fn start(backends: &[(&str, SocketAddr)]) -> Self {
        let pki = Pki::new();
        let mut sections = String::new();
        let mut addresses = Vec::new();
        for (name, backend) in backends {
            let (server, client) = (free_address(), free_address());
            let limits = "limits.connect = \"500ms\"\n";
            sections += &server_section(&pki, name, &server.to_string(), *backend, limits);
            sections += &client_section(&pki, name, &client.to_string(), server, "");
            addresses.push(client);
        }
        // The files are read before it is ready.
        Self { tunnels: Tunnels::run(TESSERA, &sections), addresses }
    }

    #[track_caller]
    fn counts(&self, name: &str, tunnel: &str, role: &str, label: &str, at_least: u64) {
        let labels = [format!("tunnel=\"{tunnel}\""), format!("role=\"{role}\""), label.to_owned()];
        self.tunnels.counts(name, &labels.each_ref().map(String::as_str), at_least);
    }
}

/// Expects a program's connection to end without an answer, before any limit of the test.
#[track_caller]
fn gets_no_answer(address: SocketAddr, name: &str) -> io::Error {
    let begun = Instant::now();
    let error = ask_once(address, name).expect_err("there is no backend");
    assert!(begun.elapsed() < PATIENCE / 2, "{name}: {error} after {:?}", begun.elapsed());
    error
}

/// Returns a listener whose queue is full: the kernel accepts no more connections.
fn hanging() -> (TcpListener, Vec<TcpStream>, SocketAddr) {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    socket.listen(0).unwrap();
    let listener: TcpListener = socket.into();
    let address = listener.local_addr().unwrap();
    let mut queue = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
        queue.push(stream);
    }
    (listener, queue, address)
}

/// Returns a backend that resets each connection once it has received something.
fn resetting() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 100]);
            let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
        }
    });
    address
}

#[test]
fn a_backend_that_refuses_hangs_or_resets_ends_its_connections_and_no_other() {
    let good = CountingBackend::start();
    let (_listener, _queue, hangs) = hanging();
    let names = ["good", "refuses", "hangs", "resets"];
    let at = [good.address(), free_address(), hangs, resetting()];
    let backends = Backends::start(&[
        (names[0], at[0]),
        (names[1], at[1]),
        (names[2], at[2]),
        (names[3], at[3]),
    ]);
    let [address, refuses, hangs, resets] = backends.addresses[..] else { panic!("four") };
    let mut long = Client::connect(address, "long").unwrap();
    long.ask(0).unwrap();
    let dials = "tessera_tunnel_dials_total";
    let connections = "tessera_tunnel_connections_total";
    for round in 1..=2 {
        gets_no_answer(refuses, "refuses");
        backends.counts(dials, "refuses", "server", "result=\"refused\"", round);
        backends.counts(connections, "refuses", "server", "outcome=\"unreachable\"", round);
        gets_no_answer(hangs, "hangs");
        backends.counts(dials, "hangs", "server", "result=\"timed_out\"", round);
        backends.counts(connections, "hangs", "server", "outcome=\"unreachable\"", round);
        let error = gets_no_answer(resets, "resets");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "not an end in order");
        backends.counts(connections, "resets", "server", "outcome=\"local_failed\"", round);
        long.ask(round as usize).unwrap();
        ask_once(address, &format!("short-{round}")).unwrap();
    }
    good.executed_nothing_twice();
}

#[test]
fn a_dead_backend_costs_no_request_its_verdict() {
    let first = CountingBackend::start();
    // The backend's address, which it can leave and return to.
    let backend = free_address();
    let forwarder = |to: SocketAddr| Forwarder::start(backend, to);
    let alive = forwarder(first.address());
    let backends = Backends::start(&[("db", backend)]);
    let address = backends.addresses[0];
    let early = "tessera_tunnel_early_data_total";
    for number in 0.. {
        ask_once(address, &format!("warm-{number}")).unwrap();
        let accepted = ["role=\"client\"", "verdict=\"accepted\""];
        if backends.tunnels.metric(early, &accepted) > 0 {
            break;
        }
        assert!(number < 100, "early data is never accepted");
    }
    drop(alive);
    // Until it is really gone it would accept the connection, and reset it.
    let is_gone = (0..1_000).any(|_| {
        thread::sleep(Duration::from_millis(1));
        TcpStream::connect(backend).is_err()
    });
    assert!(is_gone, "{backend} is there as before");
    gets_no_answer(address, "nobody");
    // The key was not taken: the client knows that nothing was executed.
    backends.counts(early, "db", "client", "verdict=\"burned\"", 1);
    let resets = ["role=\"client\"", "outcome=\"reset_by_verdict\""];
    assert_eq!(backends.tunnels.metric("tessera_tunnel_connections_total", &resets), 0);
    assert_eq!(first.executions_of("nobody", 0), 0);
    let _alive = forwarder(first.address());
    ask_once(address, "nobody").unwrap();
    first.executed_nothing_twice();
}

/// Forwards its own address to a backend, until it is dropped.
struct Forwarder {
    over: std::sync::Arc<std::sync::atomic::AtomicBool>,
    address: SocketAddr,
    thread: Option<thread::JoinHandle<()>>,
}

impl Forwarder {
    fn start(address: SocketAddr, to: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let over = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let is_over = over.clone();
        let thread = thread::spawn(move || {
            for from in listener.incoming().map_while(Result::ok) {
                if is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
                thread::spawn(move || drop(forward(from, to)));
            }
        });
        Self { over, address, thread: Some(thread) }
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.over.store(true, std::sync::atomic::Ordering::Relaxed);
        // Wakes it up.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn forward(mut from: TcpStream, to: SocketAddr) -> io::Result<()> {
    let mut to = TcpStream::connect(to)?;
    let (mut back_from, mut back_to) = (to.try_clone()?, from.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut back_from, &mut back_to);
        let _ = back_to.shutdown(std::net::Shutdown::Both);
    });
    io::copy(&mut from, &mut to)?;
    to.flush()?;
    to.shutdown(std::net::Shutdown::Write)
}
