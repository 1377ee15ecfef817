//! What a server end logs. A separate process: otherwise threads without a log may reach its events first, which turns
//! them off.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code, reason = "other tests need more of it")]
#[path = "server/backends.rs"]
mod backends;
#[path = "server/copies.rs"]
mod copies;
#[allow(dead_code, reason = "other tests need more of it")]
#[path = "server/world.rs"]
mod world;

use std::io;
use std::sync::{Arc, Mutex};

use tessera_proxy::logging::{self, LogFormat, LogOptions, tracing};

use backends::Echo;
use copies::{accepted, copy};
use world::{Client, Files, RunningServer};

/// The lines of a log.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_copy_is_not_logged_as_its_clients_nor_without_limit() {
    let lines = Lines::default();
    let options = LogOptions::new(LogFormat::Text);
    let (log, subscriber) = logging::log_to(lines.clone(), options).unwrap();
    let _guard = tracing::subscriber::set_default(subscriber);
    let (files, echo) = (Files::new(), Echo::start().await);
    let server = RunningServer::start(&files.server(&echo.forward()));
    let client = Client::new(&files.client());
    let flight = accepted(&client, server.address).await;
    drop(copy(server.address, &flight).await);
    server.stop().await;
    log.finish();
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let of = |outcome: &str| text.lines().filter(|line| line.contains(outcome)).collect::<Vec<_>>();
    let [failed] = of("outcome=handshake_failed")[..] else { panic!("{text}") };
    assert!(failed.contains("verdict=used"), "{failed}");
    assert!(!failed.contains("identity="), "{failed}");
    let completed = of("outcome=completed");
    assert_eq!(completed.len(), 2, "{text}");
    assert!(completed.iter().all(|line| line.contains("identity=dns:client.example")), "{text}");
}
