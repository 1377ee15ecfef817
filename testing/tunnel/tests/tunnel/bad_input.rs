//! Input of strangers: each kind is counted, no other client waits, and nothing stays.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use tessera_test_peers::{PATIENCE, openssl};
use tessera_tunnel_tests::Pki;
use tessera_tunnel_tests::counting::{Client, CountingBackend, ask_once};
use tessera_tunnel_tests::free_address;
use tessera_tunnel_tests::tessera::{Tunnels, client_section, server_section};

use crate::TESSERA;

/// The handshake timeout.
const HANDSHAKE: Duration = Duration::from_secs(1);

/// Both ends in one process, for an honest program; strangers connect to the server end.
struct ExposedTunnel {
    pki: Pki,
    backend: CountingBackend,
    tunnels: Tunnels,
    server: SocketAddr,
    /// The same, where a PROXY header is required.
    proxied: SocketAddr,
    client: SocketAddr,
}

impl ExposedTunnel {
    #[track_caller]
    fn start() -> Self {
        let this = Self::prepare();
        let mut tunnels = this;
        tunnels.tunnels.start();
        tunnels
    }

    fn prepare() -> Self {
        let (pki, backend) = (Pki::new(), CountingBackend::start());
        let [server, proxied, client] = [free_address(), free_address(), free_address()];
        let limits = "limits.handshake = \"1s\"\nlimits.connect = \"500ms\"\n\
                      limits.connections-per-address = 10000\nlimits.handshakes-per-address = 4096\n";
        let proxy = format!("{limits}accept-proxy-from = [\"127.0.0.0/8\"]\n");
        let to = backend.address();
        let sections = [
            server_section(&pki, "plain", &server.to_string(), to, limits),
            server_section(&pki, "proxied", &proxied.to_string(), to, &proxy),
            client_section(&pki, "app", &client.to_string(), server, ""),
        ];
        let tunnels = Tunnels::new(TESSERA, &sections.concat());
        Self { pki, backend, tunnels, server, proxied, client }
    }

    /// Checks that an honest program is served as usual.
    #[track_caller]
    fn serves(&self, name: &str) {
        if let Err(error) = ask_once(self.client, name) {
            panic!("{name}: {error}\n{}", self.tunnels.process().output());
        }
    }
}

/// Waits until the other end closes or resets; returns how long it took.
#[track_caller]
fn put_out(what: &str, mut stream: TcpStream) -> Duration {
    let begun = Instant::now();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut answer = [0; 1024];
    loop {
        match stream.read(&mut answer) {
            Ok(0) => return begun.elapsed(),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {
                return begun.elapsed();
            }
            Err(error) => panic!("{what}: {error}"),
        }
    }
}

/// What a stranger sends at once.
struct StrangerInput {
    what: &'static str,
    bytes: Vec<u8>,
    /// Whether the stranger then closes its direction.
    ends: bool,
}

/// Returns the beginning of a ClientHello that is never completed.
fn beginning_of_a_hello() -> Vec<u8> {
    [&[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3][..], &[7; 100]].concat()
}

#[test]
fn whatever_is_no_handshake_is_put_out_and_counted() {
    let bothered = ExposedTunnel::start();
    bothered.serves("before");
    let sent = |what, bytes: &[u8], ends| StrangerInput { what, bytes: bytes.to_vec(), ends };
    let cases = [
        sent("garbage", &[0xa5; 3000], false),
        sent("zeros", &[0; 20_000], false),
        sent("plaintext HTTP", b"GET / HTTP/1.1\r\nHost: server.example\r\n\r\n", false),
        sent("an unexpected PROXY header", &header(33, &[]), false),
        sent("silence", b"", false),
        sent("an end at once", b"", true),
        sent("half of a hello", &beginning_of_a_hello(), false),
        sent("half of a hello, and the end", &beginning_of_a_hello(), true),
        sent("a record longer than any", &[22, 3, 1, 255, 255, 1, 0, 0, 0], false),
        sent("an alert", &[21, 3, 3, 0, 2, 2, 40], false),
        sent("application data", &[&[23, 3, 3, 1, 0][..], &[9; 256]].concat(), false),
        sent("empty handshake records", &[22, 3, 3, 0, 0].repeat(200), false),
    ];
    let failed = [r#"tunnel="plain""#, r#"kind="failed""#];
    let before = bothered.tunnels.metric("tessera_tunnel_handshakes_total", &failed);
    thread::scope(|scope| {
        for case in &cases {
            scope.spawn(|| {
                let mut stream = TcpStream::connect(bothered.server).unwrap();
                // It may be disconnected before everything is written.
                let _ = stream.write_all(&case.bytes);
                if case.ends {
                    let _ = stream.shutdown(Shutdown::Write);
                }
                let took = put_out(case.what, stream);
                assert!(took < HANDSHAKE + PATIENCE / 2, "{} stayed {took:?}", case.what);
            });
        }
        bothered.serves("meanwhile");
    });
    let count = cases.len() as u64;
    bothered.tunnels.counts("tessera_tunnel_handshakes_total", &failed, before + count);
    let ended = [r#"tunnel="plain""#, r#"outcome="handshake_failed""#];
    bothered.tunnels.counts("tessera_tunnel_connections_total", &ended, count);
    bothered.serves("after");
    nothing_is_left(&bothered);
}

#[test]
fn a_byte_now_and_then_does_not_hold_a_handshake_open() {
    let bothered = ExposedTunnel::start();
    let begun = Instant::now();
    let mut stream = TcpStream::connect(bothered.server).unwrap();
    let mut reader = stream.try_clone().unwrap();
    let slow = thread::spawn(move || {
        for byte in beginning_of_a_hello() {
            if stream.write_all(&[byte]).is_err() {
                break;
            }
            thread::sleep(Duration::from_millis(100));
        }
    });
    reader.set_read_timeout(Some(PATIENCE)).unwrap();
    let _ = reader.read_to_end(&mut Vec::new());
    assert!(begun.elapsed() >= HANDSHAKE / 2, "it was not put out for its first byte");
    let failed = [r#"tunnel="plain""#, r#"kind="failed""#];
    bothered.tunnels.counts("tessera_tunnel_handshakes_total", &failed, 1);
    slow.join().unwrap();
    nothing_is_left(&bothered);
}

#[test]
fn other_versions_and_other_people_are_refused_with_an_alert() {
    let bothered = ExposedTunnel::start();
    let stranger = Pki::new();
    let other = bothered.pki.client_called("other", "other.example");
    let expired = bothered.pki.expired_client("expired-client");
    let (pki, server) = (&bothered.pki, bothered.server);
    let identity = |identity: &tessera_tunnel_tests::Identity| {
        [identity.certificate.clone(), identity.key.clone()]
    };
    let cases = [
        ("-tls1_2", identity(&pki.client), "alert"),
        ("-tls1_3", [String::new(), String::new()], "alert"),
        ("-tls1_3", identity(&stranger.client), "alert"),
        ("-tls1_3", identity(&other), "alert"),
        ("-tls1_3", identity(&expired), "alert"),
    ];
    let failed = [r#"tunnel="plain""#, r#"kind="failed""#];
    for (number, (version, [certificate, key], says)) in cases.iter().enumerate() {
        let mut arguments = vec![*version, "-CAfile", &pki.ca, "-servername", "server.example"];
        if !certificate.is_empty() {
            arguments.extend(["-cert", certificate, "-key", key]);
        }
        let mut client = openssl::s_client(server, &arguments);
        client.says(says);
        client.end_input().ends();
        bothered.tunnels.counts("tessera_tunnel_handshakes_total", &failed, number as u64 + 1);
    }
    // The right one is accepted, by the same program.
    let [certificate, key] = identity(&pki.client);
    let arguments = ["-tls1_3", "-quiet", "-CAfile", &pki.ca, "-cert", &certificate, "-key", &key];
    let mut client = openssl::s_client(server, &arguments);
    client.tell("openssl 1\n").says("openssl 1 1");
    assert_eq!(bothered.backend.executions(), 1, "no one else came through");
    assert_eq!(bothered.backend.connections(), 1, "nor to the backend");
}

/// Returns a PROXY header, version 2, with this command and body.
fn header(command: u8, body: &[u8]) -> Vec<u8> {
    let mut header = b"\r\n\r\n\0\r\nQUIT\n".to_vec();
    header.extend_from_slice(&[command, 0x11]);
    header.extend_from_slice(&(body.len() as u16).to_be_bytes());
    header.extend_from_slice(body);
    header
}

#[test]
fn broken_proxy_headers_are_put_out_and_counted() {
    let bothered = ExposedTunnel::start();
    let addresses = [10, 0, 0, 1, 10, 0, 0, 2, 1, 2, 3, 4];
    let whole = header(0x21, &addresses);
    let mut too_long = header(0x21, &addresses);
    too_long[14..16].copy_from_slice(&[255, 255]);
    let mut short_addresses = header(0x21, &addresses[..6]);
    short_addresses.truncate(16 + 6);
    let sent = |what, bytes: &[u8], ends| StrangerInput { what, bytes: bytes.to_vec(), ends };
    let cases = [
        sent("no header", &beginning_of_a_hello(), false),
        sent("garbage", &[0xa5; 600], false),
        sent("version 1", b"PROXY TCP4 10.0.0.1 10.0.0.2 258 772\r\n", false),
        sent("version 3", &header(0x31, &addresses), false),
        sent("an unknown command", &header(0x2f, &addresses), false),
        sent("half of the signature", &whole[..7], true),
        sent("a header without its end, and silence", &whole[..20], false),
        sent("a header without its end, and the end", &whole[..20], true),
        sent("a length without anything", &too_long[..16], false),
        sent("a length that is never reached", &too_long, true),
        sent("addresses cut short", &short_addresses, false),
        sent("silence", b"", false),
    ];
    let refused = [r#"tunnel="proxied""#, r#"reason="proxy_header""#];
    thread::scope(|scope| {
        for case in &cases {
            scope.spawn(|| {
                let mut stream = TcpStream::connect(bothered.proxied).unwrap();
                let _ = stream.write_all(&case.bytes);
                if case.ends {
                    let _ = stream.shutdown(Shutdown::Write);
                }
                put_out(case.what, stream);
            });
        }
        bothered.serves("meanwhile");
    });
    let count = cases.len() as u64;
    bothered.tunnels.counts("tessera_tunnel_refused_connections_total", &refused, count);
    // A whole one may go on.
    let mut stream = TcpStream::connect(bothered.proxied).unwrap();
    stream.write_all(&[&whole[..], &[21, 3, 3, 0, 2, 2, 40]].concat()).unwrap();
    put_out("a header and an alert", stream);
    let failed = [r#"tunnel="proxied""#, r#"kind="failed""#];
    bothered.tunnels.counts("tessera_tunnel_handshakes_total", &failed, 1);
    nothing_is_left(&bothered);
}

#[test]
fn half_open_connections_delay_no_one_and_are_put_out() {
    hold_half_open(&ExposedTunnel::start(), 500);
}

#[test]
#[ignore = "10,000 sockets of the test, and as many of the server: make tunnel"]
fn ten_thousand_half_open_connections_delay_no_one_and_are_put_out() {
    tessera_kit::open_files::raise();
    let bothered = ExposedTunnel::start();
    hold_half_open(&bothered, 10_000);
    // The next ten thousand reuse the memory of the first.
    let grown = hold_half_open(&bothered, 10_000);
    assert!(grown < 16 * 1024 * 1024, "{grown} bytes more, and so on");
}

#[track_caller]
fn hold_half_open(bothered: &ExposedTunnel, count: usize) -> u64 {
    let round = bothered.backend.executions();
    bothered.serves(&format!("before-{round}"));
    let failed = [r#"tunnel="plain""#, r#"kind="failed""#];
    let put_out_before = bothered.tunnels.metric("tessera_tunnel_handshakes_total", &failed);
    let resident = || bothered.tunnels.metric("process_resident_memory_bytes", &[]);
    let before = resident();
    let mut strangers = Vec::new();
    for number in 0..count {
        // Many addresses: each has only its share.
        let from = [
            127,
            1 + (number / 60_000) as u8,
            (number / 250 % 250) as u8,
            (number % 250) as u8 + 1,
        ];
        let mut stream = connect_from(from, bothered.server);
        let _ = stream.write_all(&beginning_of_a_hello());
        strangers.push(stream);
        if number % (count / 5) == 0 {
            bothered.serves(&format!("among-{round}-{number}"));
        }
    }
    bothered.serves(&format!("among-all-{round}"));
    let put_out_now = put_out_before + count as u64;
    bothered.tunnels.counts("tessera_tunnel_handshakes_total", &failed, put_out_now);
    for stream in strangers {
        put_out("a half-open connection", stream);
    }
    bothered.serves(&format!("after-{round}"));
    let grown = resident().saturating_sub(before);
    println!("{count} half-open connections: {grown} bytes of memory more");
    assert!(grown < 64 * 1024 * 1024, "{grown} bytes stayed");
    nothing_is_left(bothered);
    grown
}

fn connect_from(from: [u8; 4], to: SocketAddr) -> TcpStream {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((from, 0)).into()).unwrap();
    socket.connect(&to.into()).unwrap();
    socket.into()
}

#[test]
fn a_server_without_files_left_goes_on_when_there_are_some() {
    let mut bothered = ExposedTunnel::prepare();
    bothered.tunnels.start_with_files(80);
    bothered.serves("before");
    let strangers: Vec<_> =
        (0..150).map(|_| TcpStream::connect(bothered.server).unwrap()).collect();
    let failed = [r#"tunnel="plain""#, r#"kind="failed""#];
    for stream in strangers {
        put_out("one of too many", stream);
    }
    bothered.tunnels.counts("tessera_tunnel_handshakes_total", &failed, 40);
    bothered.serves("after");
    nothing_is_left(&bothered);
}

#[test]
fn a_program_that_is_silent_or_goes_away_is_no_error_of_others() {
    let bothered = ExposedTunnel::start();
    // It never sends anything, and stays.
    let silent = TcpStream::connect(bothered.client).unwrap();
    // It goes at once.
    drop(TcpStream::connect(bothered.client).unwrap());
    // It sends a request, and leaves before the answer.
    let mut hasty = Client::connect(bothered.client, "hasty").unwrap();
    hasty.write(0).unwrap();
    drop(hasty);
    bothered.serves("meanwhile");
    drop(silent);
    nothing_is_left(&bothered);
    bothered.backend.executed_nothing_twice();
}

/// Checks that no connection is left.
#[track_caller]
fn nothing_is_left(bothered: &ExposedTunnel) {
    let tunnels = &bothered.tunnels;
    tunnels.process().wait_for("to have no connection left", PATIENCE, || {
        (tunnels.metric("tessera_tunnel_active_connections", &[]) == 0).then_some(())
    });
    assert!(tunnels.process().is_alive(), "{}", tunnels.process().output());
}
