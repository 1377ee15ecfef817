//! Sockets that a supervisor passes.

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use socket2::{Domain, SockAddr, Socket, Type};
use tessera_proxy::listen::{InheritedSockets, ListenOptions, Listener};
use tessera_proxy::socket::Peer;
use tokio::io::AsyncWriteExt;

use crate::common;

#[test]
fn inherited_sockets_are_taken_by_name() {
    if common::is_child() {
        return child();
    }
    let [first, second] = [0; 2].map(|port| TcpListener::bind(("127.0.0.1", port)).unwrap());
    let addresses = [&first, &second].map(|listener| listener.local_addr().unwrap());
    let path = std::env::temp_dir().join(format!("tessera-proxy-{}-inherited", std::process::id()));
    let unix = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
    unix.bind(&SockAddr::unix(&path).unwrap()).unwrap();
    unix.listen(8).unwrap();

    // The shell assigns the descriptors: 3, 4 and 5.
    let script = r#"exec 3<&0 4<&1 5<&2 0</dev/null 1>/dev/null 2>&1
                    LISTEN_FDS=3 LISTEN_FDNAMES=pg:local:pg LISTEN_PID=$$ exec "$@""#;
    let mut child = common::child("inherited::inherited_sockets_are_taken_by_name", script)
        .stdin(Stdio::from(OwnedFd::from(first)))
        .stdout(Stdio::from(OwnedFd::from(unix)))
        .stderr(Stdio::from(OwnedFd::from(second)))
        .spawn()
        .unwrap();
    let mut told = String::new();
    for address in addresses {
        TcpStream::connect(address).unwrap().read_to_string(&mut told).unwrap();
    }
    UnixStream::connect(&path).unwrap().read_to_string(&mut told).unwrap();
    assert_eq!(told, "tcp tcp local ");
    assert!(child.wait().unwrap().success());
    assert!(path.exists(), "the file is the supervisor's");
    std::fs::remove_file(&path).unwrap();
}

fn child() {
    let mut inherited = InheritedSockets::from_env().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut bind = |address: &str| {
            let address = address.parse().unwrap();
            Listener::bind(&address, ListenOptions::default(), &mut inherited)
        };
        // Two sockets may have the same name: ListenStream= twice.
        let both = bind("systemd:pg").unwrap();
        let again = bind("systemd:pg").unwrap_err().to_string();
        assert!(again.contains("the names are local"), "{again}");
        for _ in 0..2 {
            let (mut socket, peer) = both.accept().await.unwrap();
            assert!(matches!(peer, Peer::Tcp(_)));
            socket.write_all(b"tcp ").await.unwrap();
        }
        let local = bind("systemd:local").unwrap();
        let (mut socket, peer) = local.accept().await.unwrap();
        assert_eq!(peer, Peer::Local);
        socket.write_all(b"local ").await.unwrap();
        assert_eq!(inherited.names().count(), 0);
    });
}
