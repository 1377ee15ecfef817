//! Properties of a TCP connection hold through a tunnel: halves close separately, a reset is not a clean end, and a
//! slow reader delays no other connection.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use socket2::SockRef;
use tessera_test_peers::PATIENCE;
use tessera_tunnel_tests::counting::{CountingBackend, ask_once};
use tessera_tunnel_tests::free_address;
use tessera_tunnel_tests::tessera::{Tunnels, client_section, server_section};
use tessera_tunnel_tests::{Pki, serve};

use crate::TESSERA;

/// Starts both ends in one process in front of a backend; returns the address for programs.
#[track_caller]
fn tunnel(backend: SocketAddr) -> (Tunnels, SocketAddr) {
    let (pki, server, client) = (Pki::new(), free_address(), free_address());
    let sections = server_section(&pki, "db", &server.to_string(), backend, "")
        + &client_section(&pki, "app", &client.to_string(), server, "");
    // It has read all files when it is ready.
    (Tunnels::run(TESSERA, &sections), client)
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Answers when the other half is closed: the length of the input, and all of it.
fn answer_at_the_end(mut stream: TcpStream) -> io::Result<()> {
    let mut all = Vec::new();
    stream.read_to_end(&mut all)?;
    write!(stream, "{}:", all.len())?;
    stream.write_all(&all)
}

#[test]
fn a_program_that_closes_its_half_still_gets_the_answer() {
    let (tunnels, client) = tunnel(serve(answer_at_the_end));
    // The first connections have a handshake before them; of later ones all may be in the first flight.
    for length in [0, 5, 300_000, 5, 0, 14_000, 17_000, 5] {
        let mut stream = connect(client);
        let said: Vec<u8> = (0..length).map(|index| index as u8).collect();
        let (mut writer, written) = (stream.try_clone().unwrap(), said.clone());
        let writing = thread::spawn(move || {
            writer.write_all(&written)?;
            writer.shutdown(Shutdown::Write)
        });
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        writing.join().unwrap().unwrap();
        let expected = [format!("{length}:").as_bytes(), &said].concat();
        assert!(answer == expected, "{length}: {} bytes came", answer.len());
    }
    let completed = ["role=\"client\"", "outcome=\"completed\""];
    tunnels.counts("tessera_tunnel_connections_total", &completed, 8);
    assert!(tunnels.metric("tessera_tunnel_early_data_total", &["verdict=\"accepted\""]) > 0);
}

#[test]
fn a_backend_that_closes_its_half_still_gets_the_rest() {
    let (heard, hears) = channel();
    let backend = serve(move |mut stream: TcpStream| {
        stream.write_all(b"no more from here")?;
        stream.shutdown(Shutdown::Write)?;
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest)?;
        let _ = heard.send(rest);
        Ok(())
    });
    let (_tunnels, client) = tunnel(backend);
    for _ in 0..3 {
        let mut stream = connect(client);
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        assert_eq!(answer, b"no more from here");
        stream.write_all(&[7; 100_000]).unwrap();
        drop(stream);
        assert_eq!(hears.recv_timeout(PATIENCE).unwrap(), [7; 100_000]);
    }
}

#[test]
fn a_program_that_resets_ends_its_backend_with_an_error_too() {
    let (ended, ends) = channel();
    let backend = serve(move |mut stream: TcpStream| {
        stream.write_all(b"hello")?;
        let end = stream.read_to_end(&mut Vec::new());
        let _ = ended.send(end.map_err(|error| error.kind()));
        Ok(())
    });
    let (_tunnels, client) = tunnel(backend);
    for _ in 0..3 {
        let mut stream = connect(client);
        stream.read_exact(&mut [0; 5]).unwrap();
        SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
        drop(stream);
        let end = ends.recv_timeout(PATIENCE).unwrap();
        assert_eq!(end, Err(io::ErrorKind::ConnectionReset), "it must not pass for an end");
    }
}

#[test]
fn a_client_that_does_not_read_delays_no_other_and_is_put_out() {
    let flood = serve(|mut stream: TcpStream| {
        let piece = [9; 64 * 1024];
        while stream.write_all(&piece).is_ok() {}
        Ok(())
    });
    let good = CountingBackend::start();
    let pki = Pki::new();
    let [flooding, server, floods, client] = [(); 4].map(|()| free_address());
    let limits = "limits.write = \"1s\"\n";
    let sections = [
        server_section(&pki, "flood", &flooding.to_string(), flood, limits),
        server_section(&pki, "db", &server.to_string(), good.address(), ""),
        client_section(&pki, "floods", &floods.to_string(), flooding, limits),
        client_section(&pki, "app", &client.to_string(), server, ""),
    ];
    let tunnels = Tunnels::run(TESSERA, &sections.concat());
    let lazy: Vec<_> = (0..20).map(|_| connect(floods)).collect();
    for number in 0..20 {
        ask_once(client, &format!("meanwhile-{number}")).unwrap();
    }
    let timed_out = ["tunnel=\"floods\"", "outcome=\"timed_out\""];
    tunnels.counts("tessera_tunnel_connections_total", &timed_out, 20);
    tunnels.process().wait_for("to have no connection left", PATIENCE, || {
        (tunnels.metric("tessera_tunnel_active_connections", &[]) == 0).then_some(())
    });
    drop(lazy);
}

#[test]
fn spare_connections_of_a_killed_server_are_given_to_no_client() {
    let (pki, backend) = (Pki::new(), CountingBackend::start());
    let [server_address, client_address] = [(); 2].map(|()| free_address());
    let (listen, to) = (server_address.to_string(), backend.address());
    let section = server_section(&pki, "db", &listen, to, "wait-for-client = true\n");
    let mut server = Tunnels::run(TESSERA, &section);
    let more = "spare = 3\nearly = \"never\"\n";
    let section = client_section(&pki, "app", &client_address.to_string(), server_address, more);
    let client = Tunnels::run(TESSERA, &section);
    let ready = || client.counts("tessera_tunnel_spare_connections", &[], 3);
    for life in 0..3 {
        ready();
        assert_eq!(backend.connections(), 5 * life, "the backend waits for programs");
        for number in 0..5 {
            ask_once(client_address, &format!("life-{life}-{number}")).unwrap();
        }
        ready();
        server.kill();
        client.process().wait_for("to forget the dead", PATIENCE, || {
            (client.metric("tessera_tunnel_spare_connections", &[]) == 0).then_some(())
        });
        server.start();
    }
    assert!(client.metric("tessera_tunnel_spare_events_total", &["event=\"used\""]) >= 3);
    backend.executed_nothing_twice();
}
