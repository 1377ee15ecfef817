//! Mosquitto: a broker of MQTT, and its clients.

use std::net::SocketAddr;

use crate::{Directory, Network, Process, free_port};

/// Starts a broker on the loopback interface, open to all.
#[track_caller]
pub fn broker() -> (Process, SocketAddr) {
    let port = free_port().expect("a port is free");
    let directory = Directory::new();
    let settings = format!(
        "listener {port} 127.0.0.1\nallow_anonymous true\npersistence false\nlog_type all\n"
    );
    let file = directory.write("mosquitto.conf", settings);
    let broker = Process::start("mosquitto", Network::Loopback, ["-c", &file]);
    // The directory is removed once it runs.
    broker.says(" running");
    (broker, SocketAddr::from(([127, 0, 0, 1], port)))
}

/// Publishes a message by `mosquitto_pub`, which must succeed; returns once the broker has acknowledged it.
#[track_caller]
pub fn publish(address: SocketAddr, topic: &str, message: &str) {
    let mut publisher = client("mosquitto_pub", address, topic, &["-q", "1", "-m", message]);
    let succeeded = publisher.end_input().ends();
    assert!(succeeded, "mosquitto_pub failed: {}", publisher.output());
}

/// Starts a subscriber by `mosquitto_sub` under this name, and waits until `broker` has its subscription. It ends after
/// this many messages, each on a line of its standard output.
#[track_caller]
pub fn subscriber(
    broker: &Process,
    name: &str,
    address: SocketAddr,
    topic: &str,
    messages: usize,
) -> Process {
    let count = messages.to_string();
    let subscriber =
        client("mosquitto_sub", address, topic, &["-q", "1", "-C", &count, "-i", name]);
    // The subscriber buffers its output until its end.
    broker.says(&format!("Sending SUBACK to {name}"));
    subscriber
}

#[track_caller]
fn client(program: &str, address: SocketAddr, topic: &str, options: &[&str]) -> Process {
    let (host, port) = (address.ip().to_string(), address.port().to_string());
    let place = ["-h", &host, "-p", &port, "-t", topic];
    Process::start(program, Network::Loopback, [&place[..], options].concat())
}
