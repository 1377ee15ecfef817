//! The server: one socket for all connections.

use std::error::Error;
use std::net::UdpSocket;

use quinn::{Endpoint, Incoming};
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::signal::unix::{SignalKind, signal};

use crate::arguments::ServerOptions;
use crate::{configs, report};

const ACK_LENGTH: usize = 4;

pub async fn run(options: &ServerOptions) -> Result<(), Box<dyn Error>> {
    let config = configs::server(&options.certificate, &options.key)?;
    let socket = UdpSocket::bind(options.listen)?;
    let runtime = quinn::default_runtime().ok_or("tokio runs")?;
    let endpoint = Endpoint::new(configs::endpoint(&options.key)?, Some(config), socket, runtime)?;
    let mut terminated = signal(SignalKind::terminate())?;
    report::line(&json!({ "event": "listening", "address": endpoint.local_addr()?.to_string() }));
    let accepting = tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            tokio::spawn(serve(incoming));
        }
    });
    tokio::select! {
        _ = terminated.recv() => (),
        () = end_of_input() => (),
    }
    accepting.abort();
    let cpu_us = report::cpu_us();
    report::line(&json!({ "event": "end", "cpu_us": cpu_us, "sockets_most": 1, "ports_most": 1 }));
    // A read of standard input can't be cancelled.
    std::process::exit(0);
}

/// Acknowledges messages until the client closes, is idle or fails.
async fn serve(incoming: Incoming) {
    let Ok(connection) = incoming.await else { return };
    while let Ok(message) = connection.read_datagram().await {
        if message.len() >= ACK_LENGTH {
            // One that can't be sent is lost.
            let _ = connection.send_datagram(message.slice(..ACK_LENGTH));
        }
    }
}

async fn end_of_input() {
    let mut part = [0; 256];
    while tokio::io::stdin().read(&mut part).await.is_ok_and(|count| count > 0) {}
}
