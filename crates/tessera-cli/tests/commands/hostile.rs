//! Hostile peers, and the end of the server.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use crate::program::Server;

#[test]
fn garbage_ends_its_own_connection_to_serve_alone() {
    let server = Server::start(&["--http"]);
    let mut hello = vec![22, 3, 1, 0, 4, 1, 0, 255, 255];
    for bytes in
        [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0; 3], &[22, 3, 1, 255, 255], &hello.clone(), &[]]
    {
        let mut socket = TcpStream::connect(&server.address).unwrap();
        socket.write_all(bytes).unwrap();
        socket.shutdown(Shutdown::Write).unwrap();
        let _ = socket.read_to_end(&mut Vec::new());
        let told = server.next();
        assert!(told["error"].is_string(), "{told}");
        assert!(told["suite"].is_null());
    }
    hello.clear();
    server.facts(&[]);
}

#[test]
fn an_alert_of_serve_reaches_a_client_that_is_still_sending() {
    let server = Server::start(&[]);
    let mut socket = TcpStream::connect(&server.address).unwrap();
    // The beginning of a ClientHello that is far too long, and 4 MiB of it.
    let mut record = vec![22, 3, 1, 0x40, 0];
    record.resize(5 + 0x4000, 0);
    record[5..9].copy_from_slice(&[1, 255, 255, 255]);
    for _ in 0..256 {
        socket.write_all(&record).unwrap();
    }
    socket.shutdown(Shutdown::Write).unwrap();
    let mut alert = Vec::new();
    socket.read_to_end(&mut alert).unwrap();
    assert_eq!(alert, [21, 3, 3, 0, 2, 2, 50]);
}

#[test]
fn serve_survives_a_thousand_broken_connections() {
    let server = Server::start(&["--quiet"]);
    let threads: Vec<_> = (0..4)
        .map(|seed| {
            let address = server.address.clone();
            std::thread::spawn(move || {
                for index in 0..250_usize {
                    let mut socket = TcpStream::connect(&address).unwrap();
                    let bytes: Vec<u8> =
                        (0..index % 300).map(|at| (at * 7 + index * 31 + seed) as u8).collect();
                    let _ =
                        socket.write_all(&[&[22, 3, 1, 0, 200, 1, 0, 0, 196], &bytes[..]].concat());
                }
            })
        })
        .collect();
    for _ in 0..1000 {
        assert!(server.next()["error"].is_string());
    }
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(server.facts(&[])["resumed"], false);
}

#[test]
fn serve_ends_a_handshake_that_takes_too_long() {
    let server = Server::start(&["--handshake-timeout", "1"]);
    let mut socket = TcpStream::connect(&server.address).unwrap();
    socket.write_all(&[22]).unwrap();
    let started = Instant::now();
    let _ = socket.read_to_end(&mut Vec::new());
    assert!((900..3000).contains(&started.elapsed().as_millis()), "{:?}", started.elapsed());
    assert!(server.next()["error"].as_str().unwrap().contains("within its time limit"));
}

#[test]
fn serve_lets_clients_wait_where_there_is_no_room() {
    let server = Server::start(&["--max-connections", "1", "--handshake-timeout", "1"]);
    let _silent = TcpStream::connect(&server.address).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let started = Instant::now();
    server.facts(&[]);
    assert!(started.elapsed() > Duration::from_millis(700), "{:?}", started.elapsed());
    assert!(server.next()["error"].is_string());
}

/// Starts `tessera connect`, which waits for input.
fn client_of(server: &Server) -> std::process::Child {
    crate::program::tessera()
        .args(["connect", &server.address, "--fingerprint", &server.fingerprint])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn signals_end_serve_gracefully() {
    for signal in ["-TERM", "-INT"] {
        let server = Server::start(&[]);
        let mut client = client_of(&server);
        client.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        client.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let started = Instant::now();
        server.signal(signal);
        let (told, code) = server.wait();
        assert_eq!(code, Some(0));
        assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
        let facts: serde_json::Value = serde_json::from_str(&told).unwrap();
        assert_eq!(facts["error"], serde_json::Value::Null);
        // The client received close_notify: this is no truncation.
        assert_eq!(client.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn serve_keeps_room_for_others_and_reports_what_it_refused() {
    let server = Server::start(&["--http", "--max-connections-per-address", "3"]);
    let mut silent: Vec<_> =
        (0..30).map(|_| TcpStream::connect(&server.address).unwrap()).collect();
    // Three connections are accepted; the others are refused at once.
    for socket in &mut silent[3..] {
        assert!(!matches!(socket.read(&mut [0]), Ok(1..)));
    }
    assert!(!server.connect(&["--fingerprint", &server.fingerprint], "hello").status.success());
    // A different address, which only processes of this machine have.
    let mut other = std::process::Command::new("openssl");
    other.args(["s_client", "-quiet", "-bind", "127.0.0.2:0", "-connect", &server.address]);
    let output = crate::program::run(&mut other, "GET / HTTP/1.0\r\n\r\n");
    assert!(output.stdout.starts_with(b"HTTP/1.0 200 OK"), "{}", crate::program::stderr(&output));
    drop(silent);
    server.signal("-TERM");
    let (told, code) = server.wait();
    assert_eq!(code, Some(0));
    assert!(told.contains(r#""refused_connections_of_address":28"#), "{told}");
}

#[test]
fn serve_ends_connections_on_which_nothing_moves() {
    // Longer than a busy machine delays a client in the middle of its handshake.
    let server = Server::start(&["--idle-timeout", "2s"]);
    let mut child = client_of(&server);
    let told = server.next();
    assert_eq!(told["error"], "the connection was idle for too long", "{told}");
    // The client received close_notify: nothing is missing.
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
