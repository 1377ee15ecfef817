//! TCP Fast Open at both ends, over an emulated link: two network namespaces, each with its own sysctl.
//!
//! As root this requires the link, and fails without it.
#![cfg(target_os = "linux")]

use std::fs;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread::JoinHandle;

use tessera_link::{End, Link, LinkKind, LinkParameters};
use tessera_proxy::dial::{DialOptions, Dialler};
use tessera_proxy::listen::{InheritedSockets, ListenOptions, Listener};
use tessera_proxy::socket::Socket;
use tessera_tokio::fast_open::Opening;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[test]
fn the_first_write_travels_in_the_syn() {
    let link = Link::open(LinkKind::Auto, &LinkParameters::default()).unwrap();
    if let Some(reason) = link.fallback_reason() {
        assert!(!is_root(), "{reason}");
        eprintln!("not tested: {reason}");
        return;
    }
    let (tell, told) = mpsc::channel();
    let ip = link.addresses().server;
    let server = at(&link, End::Server, 2, move || async move {
        let mut options = ListenOptions::default();
        options.fast_open = true;
        let address = SocketAddr::new(ip, 0).to_string().parse().unwrap();
        let listener = Listener::bind(&address, options, &mut InheritedSockets::default()).unwrap();
        assert!(listener.fast_open_lacks().is_none(), "{:?}", listener.fast_open_lacks());
        tell.send(listener.local_addrs().unwrap()[0]).unwrap();
        for _ in 0..2 {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut question = [0; 8];
            socket.read_exact(&mut question).await.unwrap();
            socket.write_all(&question).await.unwrap();
        }
    });
    let address = told.recv().unwrap();
    let client = at(&link, End::Client, 1, move || async move {
        let mut options = DialOptions::default();
        options.fast_open = true;
        let dialler = Dialler::new(address.to_string().parse().unwrap(), options);
        let mut openings = Vec::new();
        for _ in 0..2 {
            let mut socket = dialler.dial().await.unwrap();
            socket.write_all(b"question").await.unwrap();
            let mut answer = [0; 8];
            socket.read_exact(&mut answer).await.unwrap();
            assert_eq!(&answer, b"question");
            let Socket::FastOpen(socket) = socket else { unreachable!("it was asked for") };
            assert!(socket.get_ref().nodelay().unwrap());
            openings.push(socket.opening());
        }
        openings
    });
    // The first connection brings the cookie.
    assert_eq!(client.join().unwrap(), [Opening::NoCookie, Opening::Taken(8)]);
    server.join().unwrap();
}

/// Runs a future at one end, on its own runtime, with this sysctl.
fn at<T: Send + 'static, F: Future<Output = T>>(
    link: &Link,
    end: End,
    sysctl: u8,
    body: impl FnOnce() -> F + Send + 'static,
) -> JoinHandle<T> {
    let run = move || {
        fs::write("/proc/sys/net/ipv4/tcp_fastopen", sysctl.to_string()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(body())
    };
    link.spawn_thread(end, run).unwrap()
}

fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let uid = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap();
    uid.split_whitespace().nth(1) == Some("0")
}
