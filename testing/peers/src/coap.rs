//! libcoap's programs without security of their own: CoAP (RFC 7252) over UDP.

use std::net::{SocketAddr, UdpSocket};

use crate::{Network, Process};

/// Starts a server on the loopback interface, with libcoap's example resources.
#[track_caller]
pub fn server() -> (Process, SocketAddr) {
    // CoAP has no port 0.
    let unused = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let address = unused.expect("a port is free");
    let (host, port) = (address.ip().to_string(), address.port().to_string());
    let options = ["-A", &host, "-p", &port, "-v", "7", "-d", "10"];
    let server = Process::start("coap-server-notls", Network::Loopback, options);
    server.says(&format!("created UDP  endpoint {address}"));
    (server, address)
}

/// Runs a request by `coap-client-notls` with these options, which must succeed; returns its output.
#[track_caller]
pub fn request(address: SocketAddr, path: &str, options: &[&str]) -> String {
    let url = format!("coap://{address}/{path}");
    let arguments = [&["-B", "20"], options, &[&url]].concat();
    let mut client = Process::start("coap-client-notls", Network::Loopback, arguments);
    let succeeded = client.end_input().ends();
    assert!(succeeded, "coap-client-notls failed: {}", client.output());
    client.stdout()
}
