//! PROXY headers (version 2) with HAProxy before and behind the server end, and their facts of peer and flight.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};

use tessera_test_peers::{haproxy, wait_until};
use tessera_tunnel_tests::counting::{Client, CountingBackend, ask_once};
use tessera_tunnel_tests::free_address;
use tessera_tunnel_tests::tessera::{Tunnels, client_section, server_section};
use tessera_tunnel_tests::{CLIENT_NAME, Pki, serve};

use crate::TESSERA;

#[test]
fn haproxy_before_and_behind_the_server_end_agree_on_the_clients_identity() {
    let (pki, backend) = (Pki::new(), CountingBackend::start());
    let [before, server, behind, client] = [(); 4].map(|()| free_address());
    // The address that one logs for a connection is the one that the other receives.
    let log = "log stdout format raw local0\n  log-format \"%f:%ci:%cp.\"\n";
    let settings = format!(
        "global\n  nbthread 1\ndefaults\n  mode tcp\n  timeout connect 5s\n  timeout client 60s\n  \
         timeout server 60s\n  {log}\
         listen before\n  bind {before}\n  server s {server} send-proxy-v2\n\
         listen behind\n  bind {behind} accept-proxy\n  server s {}\n",
        backend.address()
    );
    let proxy = haproxy::start(&settings, &[before.port(), behind.port()]);
    let more = "accept-proxy-from = [\"127.0.0.1\"]\nsend-proxy = true\n";
    let sections = server_section(&pki, "db", &server.to_string(), behind, more)
        + &client_section(&pki, "app", &client.to_string(), before, "");
    let tunnels = Tunnels::run(TESSERA, &sections);
    for number in 0..5 {
        ask_once(client, &format!("request-{number}")).unwrap();
    }
    backend.executed_nothing_twice();
    let of = |frontend: &str| {
        let stdout = proxy.stdout();
        let lines = stdout.lines().filter_map(|line| line.strip_prefix(frontend));
        let mut lines: Vec<_> = lines.map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let heard = wait_until("HAProxy logs all connections", || {
        let (said, heard) = (of("before:"), of("behind:"));
        (said.len() == 5 && heard.len() == 5).then_some((said, heard))
    });
    assert_eq!(heard.0, heard.1);
    assert!(tunnels.process().is_alive());
}

type Values = BTreeMap<u8, Vec<u8>>;

#[test]
fn a_backend_receives_the_clients_identity_and_the_name_of_its_flight() {
    let pki = Pki::new();
    let told: Arc<Mutex<Vec<Values>>> = Arc::default();
    let of_all = told.clone();
    let backend = serve(move |stream| answer_with_header(stream, &of_all));
    let [server, client] = [(); 2].map(|()| free_address());
    let more = "send-proxy = true\nsend-proxy-identity = true\n";
    let sections = server_section(&pki, "db", &server.to_string(), backend, more)
        + &client_section(&pki, "app", &client.to_string(), server, "");
    let tunnels = Tunnels::run(TESSERA, &sections);
    let early = || {
        let accepted = ["role=\"client\"", "verdict=\"accepted\""];
        tunnels.metric("tessera_tunnel_early_data_total", &accepted)
    };
    let mut flights = Vec::new();
    for number in 0..30 {
        let before = early();
        Client::connect(client, "header").unwrap().ask(number).unwrap();
        let values = told.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap();
        let identity = String::from_utf8_lossy(&values[&0xe1]).into_owned();
        assert!(identity.contains(CLIENT_NAME), "{identity}");
        let flight = values.get(&0xe0);
        assert_eq!(flight.is_some(), early() > before, "the name of a flight, where there is one");
        flights.extend(flight.cloned());
        if flights.len() == 3 {
            break;
        }
    }
    assert_eq!(flights.len(), 3, "first flights carry requests");
    flights.sort();
    flights.dedup();
    assert_eq!(flights.len(), 3, "each has a name of its own");
}

/// A backend that accepts a PROXY header, and answers like the counting one.
fn answer_with_header(mut stream: TcpStream, told: &Mutex<Vec<Values>>) -> io::Result<()> {
    let mut head = [0; 16];
    stream.read_exact(&mut head)?;
    if &head[..12] != b"\r\n\r\n\0\r\nQUIT\n" || head[12..14] != [0x21, 0x11] {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut rest = vec![0; usize::from(u16::from_be_bytes([head[14], head[15]]))];
    stream.read_exact(&mut rest)?;
    // Two addresses and two ports of IPv4.
    let mut values = Values::new();
    let mut left = &rest[12..];
    while let [kind, high, low, after @ ..] = left {
        let (value, next) = after.split_at(usize::from(u16::from_be_bytes([*high, *low])));
        values.insert(*kind, value.to_vec());
        left = next;
    }
    told.lock().unwrap_or_else(PoisonError::into_inner).push(values);
    let mut lines = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    while lines.read_line(&mut line)? > 0 {
        stream.write_all(format!("{} 1\n", line.trim_end()).as_bytes())?;
        line.clear();
    }
    Ok(())
}

#[test]
fn health_checks_of_haproxy_are_no_errors() {
    let (pki, backend) = (Pki::new(), CountingBackend::start());
    let [before, server] = [(); 2].map(|()| free_address());
    // LOCAL headers, and then the end.
    let settings = format!(
        "global\n  nbthread 1\ndefaults\n  mode tcp\n  timeout connect 5s\n  timeout client 60s\n  \
         timeout server 60s\n\
         listen before\n  bind {before}\n  \
         server s {server} send-proxy-v2 check inter 50ms fall 1 rise 1\n"
    );
    let more = "accept-proxy-from = [\"127.0.0.1\"]\n";
    let section = server_section(&pki, "db", &server.to_string(), backend.address(), more);
    let tunnels = Tunnels::run(TESSERA, &section);
    let proxy = haproxy::start(&settings, &[before.port()]);
    let connections = || tunnels.metric("tessera_tunnel_connections_total", &["role=\"server\""]);
    let (refused, begun) = ("tessera_tunnel_refused_connections_total", connections());
    wait_until("HAProxy looks whether it is there", || (connections() > begun + 3).then_some(()));
    assert_eq!(tunnels.metric(refused, &["reason=\"proxy_header\""]), 0);
    assert_eq!(backend.connections(), 0, "no connection reached the backend");
    assert!(!proxy.output().contains("DOWN"), "{}", proxy.output());
}
