//! Memory holds nothing of a ticket whose one-time key was taken, while its connection lives on.
//!
//! A separate program, because it searches the whole process.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]
#![cfg(target_os = "linux")]

mod common;

use std::sync::Arc;

use common::{EarlyDataReport, SERVER_NAME, connect, destination, finish, forward_secret, settled};
use tessera::Destination;
use tessera::crypto::{Depth, StackDepth};
use tessera_harness::Mark;
use tessera_tokio::{MemorySessionStore, SessionStore};
use tokio::io::{AsyncReadExt, duplex};

/// Unoptimised builds use more stack than release builds.
const DEEP: Depth = Depth::of::<{ 256 * 1024 }>();
const DEPTH: StackDepth = StackDepth { derivation: DEEP, agreement: DEEP };

#[tokio::test]
async fn neither_end_keeps_what_a_taken_ticket_was_made_of() {
    let mut ends = forward_secret();
    ends.client.provider.stack_depth = DEPTH;
    ends.server.provider.stack_depth = DEPTH;
    let sessions = Arc::new(MemorySessionStore::default());
    let connector = ends.connector().with_sessions(sessions.clone());
    let (mut client, mut server) = connect(&connector, &ends.acceptor()).await;
    finish(&mut client, &mut server).await;
    drop((client, server));

    let session = sessions.pop(SERVER_NAME).unwrap();
    let fs_secret = Mark::of(session.forward_secret.as_ref().unwrap().secret.expose());
    let psk = Mark::of(session.state.psk.expose());
    assert!(fs_secret.count() > 0 && psk.count() > 0, "what is there is found");
    let (near, far) = duplex(64 * 1024);
    let to = Destination { session: Some(Box::new(session)), ..destination() };
    let connector = ends.connector();
    let acceptor = ends.acceptor();
    let (client, server) = tokio::join!(
        connector.connect_with_early_data(to, near, b"question"),
        acceptor.accept(far)
    );
    let ((client, told), mut server) = (settled(client), server.unwrap());
    assert_eq!(told, EarlyDataReport::Accepted(8));
    let mut question = [0; 8];
    server.read_exact(&mut question).await.unwrap();
    assert_eq!(fs_secret.count(), 0, "the FS secret of the ticket is still there");
    assert_eq!(psk.count(), 0, "the PSK of the sealed ticket is still there");
    drop((client, server));
}
