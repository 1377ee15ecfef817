//! A server on rustls that returns what it gets: a peer for programs that are not linked with it. It prints its port, and
//! then a line for each connection.
//!
//!     rustls-server FRAGMENT KEY CERTIFICATE...    all DER, the end entity first
//!
//! FRAGMENT is how long its records are at most, in bytes, with their headers: it knows neither record_size_limit nor
//! max_fragment_length, and must be configured for a device.
#![allow(clippy::unwrap_used)]

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let fragment = arguments.next().expect("a length").parse().unwrap();
    let mut files = arguments.map(|path| std::fs::read(path).unwrap());
    let key = PrivateKeyDer::try_from(files.next().expect("a key")).unwrap();
    let chain = files.map(CertificateDer::from).collect();
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key);
    let mut config = config.unwrap();
    config.max_fragment_size = Some(fragment);
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("port {}", listener.local_addr().unwrap().port());
    for stream in listener.incoming() {
        let connection = ServerConnection::new(config.clone()).unwrap();
        match echo(StreamOwned::new(connection, stream.unwrap())) {
            Ok(group) => println!("complete {group}"),
            Err(error) => println!("failed {error}"),
        }
    }
}

/// Returns what comes first, and closes; returns the group.
fn echo(mut stream: StreamOwned<ServerConnection, TcpStream>) -> io::Result<String> {
    let mut data = [0; 1024];
    let count = stream.read(&mut data)?;
    stream.write_all(&data[..count])?;
    stream.conn.send_close_notify();
    stream.flush()?;
    let group = stream.conn.negotiated_key_exchange_group();
    Ok(group.map_or_else(String::new, |group| format!("{:?}", group.name())))
}
