//! A stream leaves no plaintext in memory.
//!
//! A separate program, because it searches the whole process.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]
#![cfg(target_os = "linux")]

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{EarlyDataReport, connect, destination, ends, forward_secret, settled};
use tessera_harness::Mark;
use tessera_tokio::MemorySessionStore;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, duplex};
use zeroize::Zeroize;

/// Repeats the mark.
fn marked(mark: &Mark, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    mark.fill(&mut bytes);
    bytes
}

/// Checks that the reader waits, because nothing more arrives.
async fn nothing_comes(stream: &mut (impl AsyncRead + Unpin)) {
    let mut nothing = [0; 1];
    tokio::select! {
        biased;
        _ = stream.read(&mut nothing) => panic!("nothing was sent"),
        () = async {} => (),
    }
}

/// Allocates above everything allocated before: an allocator returns only the end of its memory to the
/// system, and memory returned could not be searched for the mark.
fn new_fence() -> Vec<u8> {
    vec![1; 60_000]
}

#[tokio::test]
async fn no_plaintext_of_a_stream_stays_in_memory() {
    let mark = Mark::new();
    let mut plaintext = marked(&mark, 100_000);
    assert!(mark.count() >= 100_000 / 16, "what is there is found");

    // Large transfers, whose buffers grow, while the connection lives and after it.
    let ends = ends();
    let (mut client, mut server) = connect(&ends.connector(), &ends.acceptor()).await;
    let mut received = vec![0; plaintext.len()];
    let (first, second) = received.split_at_mut(90_000);
    let (written, fence) = tokio::join!(client.write_all(&plaintext), async {
        server.read_exact(first).await.unwrap();
        let fence = new_fence();
        server.read_exact(second).await.unwrap();
        fence
    });
    written.unwrap();
    nothing_comes(&mut server).await;
    plaintext.zeroize();
    received.zeroize();
    assert_eq!(mark.count(), 0, "an idle connection holds plaintext");

    // A stream kept after its end.
    let mut plaintext = marked(&mark, 3_000);
    client.write_all(&plaintext).await.unwrap();
    client.shutdown().await.unwrap();
    let mut received = Vec::with_capacity(8_000);
    server.read_to_end(&mut received).await.unwrap();
    assert_eq!(received, plaintext);
    plaintext.zeroize();
    received.zeroize();
    assert_eq!(mark.count(), 0, "a stream that has ended holds plaintext");
    drop((client, server));
    let (mut client, mut server) = connect(&ends.connector(), &ends.acceptor()).await;

    // Plaintext unread when the stream was dropped.
    let mut plaintext = marked(&mark, 10_000);
    client.write_all(&plaintext).await.unwrap();
    let mut received = vec![0; 100];
    server.read_exact(&mut received).await.unwrap();
    let fences = (fence, new_fence());
    drop((client, server));
    plaintext.zeroize();
    received.zeroize();
    assert_eq!(mark.count(), 0, "a dropped connection left plaintext");
    drop(fences);

    // Early data, which waits during the handshake.
    let ends = forward_secret();
    let connector = ends.connector().with_sessions(Arc::new(MemorySessionStore::default()));
    let (mut client, mut server) = connect(&connector, &ends.acceptor()).await;
    common::finish(&mut client, &mut server).await;
    let (near, far) = duplex(64 * 1024);
    let mut plaintext = marked(&mark, 6_000);
    let acceptor = ends.acceptor();
    let (client, server) = tokio::join!(
        connector.connect_with_early_data(destination(), near, &plaintext),
        acceptor.accept(far)
    );
    let ((_client, early_data), mut server) = (settled(client), server.unwrap());
    assert_eq!(early_data, EarlyDataReport::Accepted(plaintext.len()));
    let fence = new_fence();
    let mut received = vec![0; plaintext.len()];
    server.read_exact(&mut received).await.unwrap();
    assert!(server.is_early() && received == plaintext);
    nothing_comes(&mut server).await;
    plaintext.zeroize();
    received.zeroize();
    assert_eq!(mark.count(), 0, "early data stayed behind");
    drop(fence);
}

#[tokio::test]
async fn a_first_flight_keeps_its_plaintext_until_the_verdict_and_no_longer() {
    let mark = Mark::new();
    let mut ends = forward_secret();
    // Searching all memory takes long.
    ends.client.handshake_timeout = Duration::from_secs(3600);
    let connector = common::prepared(&ends).await.0;
    let (near, far) = duplex(64 * 1024);
    let mut client = connector.first_flight(destination(), near).await.unwrap();
    let mut plaintext = marked(&mark, 6_000);
    // In two writes, so that the kept data grows.
    client.write_all(&plaintext[..3_000]).await.unwrap();
    client.write_all(&plaintext[3_000..]).await.unwrap();
    plaintext.zeroize();
    assert!(mark.count() >= 6_000 / 16, "it is kept");
    let fence = new_fence();
    let acceptor = ends.acceptor();
    let (settled, server) = tokio::join!(client.settled(), acceptor.accept(far));
    settled.unwrap();
    assert_eq!(client.early_data().accepted, 6_000);
    let mut received = vec![0; 6_000];
    let mut server = server.unwrap();
    server.read_exact(&mut received).await.unwrap();
    nothing_comes(&mut server).await;
    received.zeroize();
    assert_eq!(mark.count(), 0, "an accepted first flight stayed behind");
    drop(fence);
}
