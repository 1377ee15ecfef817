//! Prints the bytes of the first and the second handshake of a client and a server.

use std::error::Error;
use std::sync::Arc;

use tessera_rustls_cached::{
    CachedChains, Certificates, Destination, Ends, KeyKind, SERVER_NAME, connect,
};

fn main() -> Result<(), Box<dyn Error>> {
    println!("rustls to rustls, both with a chain of two, X25519, no tickets; bytes of TLS:");
    println!(
        "{:<7} {:>11} {:>6} {:>6} {:>6} {:>5}",
        "keys", "a chain", "first", "second", "ratio", "aim"
    );
    for kind in KeyKind::ALL {
        let certificates = Certificates::new(kind)?;
        let (client, server) = (CachedChains::new(), CachedChains::new());
        let first = meet(&certificates, &client, &server)?;
        let second = meet(&certificates, &client, &server)?;
        let [first, second] = [first, second].map(|ends| ends.bytes.total());
        let ratio = second as f64 / first as f64;
        let chain: Vec<_> =
            certificates.server_chain().iter().map(|it| it.len().to_string()).collect();
        let (name, chain) = (format!("{kind:?}"), chain.join(" + "));
        println!("{name:<7} {chain:>11} {first:>6} {second:>6} {ratio:>6.3} {:>5.2}", kind.aim());
    }
    Ok(())
}

/// One connection, of which both learn.
fn meet(
    certificates: &Certificates,
    client: &CachedChains,
    server: &CachedChains,
) -> Result<Ends, Box<dyn Error>> {
    let config = certificates.client()?;
    let to = Destination::new(SERVER_NAME, 443, &config);
    let theirs = server.server_config(&certificates.server(b"")?, certificates.server_chain());
    let config = client.client_config(&config, &to, certificates.client_chain());
    let ends = connect(Arc::new(config), Arc::new(theirs))?.complete()?;
    client.learn_server(&to, &ends.client.connection);
    server.learn_client(&ends.server.connection);
    Ok(ends)
}
