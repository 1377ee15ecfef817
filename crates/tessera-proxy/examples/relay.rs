//! A relay: forwards connections from one address to another.
//!
//! `cargo run -p tessera-proxy --example relay -- 127.0.0.1:8080 example.com:80`, and then
//! `curl -H 'Host: example.com' http://127.0.0.1:8080/`.

use std::env;
use std::error::Error;

use tessera_proxy::address::{DialAddress, ListenAddress};
use tessera_proxy::dial::{DialOptions, Dialler};
use tessera_proxy::gate::{AdmittedClient, Gate, GateLimits};
use tessera_proxy::listen::{InheritedSockets, ListenOptions, Listener};
use tessera_proxy::pump::{End, pump};
use tessera_tokio::ResetOnClose;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [listen, forward] = arguments.as_slice() else {
        return Err("two addresses: where to listen, and where to connect to".into());
    };
    let (listen, forward) = (listen.parse()?, forward.parse()?);
    // Before any thread starts.
    let inherited = InheritedSockets::from_env()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(relay(&listen, forward, inherited))
}

async fn relay(
    listen: &ListenAddress,
    forward: DialAddress,
    mut inherited: InheritedSockets,
) -> Result<(), Box<dyn Error>> {
    let listener = Listener::bind(listen, ListenOptions::default(), &mut inherited)?;
    let gate = Gate::new(GateLimits::default());
    let dialler = Dialler::new(forward, DialOptions::default());
    println!("{listen} -> {}", dialler.address());
    loop {
        let client = gate.accept(&listener).await;
        tokio::spawn(serve(client, gate.clone(), dialler.clone()));
    }
}

async fn serve(client: AdmittedClient, gate: Gate, dialler: Dialler) {
    let AdmittedClient { mut socket, handshake, peer, .. } = client;
    let mut backend = match dialler.dial().await {
        Ok(backend) => gate.time(backend),
        Err(error) => {
            println!("{peer}: {error}");
            return socket.reset_on_close();
        }
    };
    // No handshake here: release its place before the client's bytes are read.
    drop(handshake);
    let pumped = pump(&mut socket, &mut backend).await;
    if let End::Failed { .. } = pumped.end {
        socket.reset_on_close();
        backend.reset_on_close();
    }
    println!("{peer}: {} bytes there, {} back: {:?}", pumped.a_to_b, pumped.b_to_a, pumped.end);
}
