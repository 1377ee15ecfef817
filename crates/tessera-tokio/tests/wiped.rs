//! What a stream leaves in memory: nothing of the plaintext.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]
#![cfg(target_os = "linux")]

mod common;

use std::collections::hash_map::RandomState;
use std::fs::{File, read_to_string};
use std::hash::BuildHasher;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use common::{connect, destination, ends, forward_secret};
use tessera_tokio::{EarlyData, MemorySessionStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use zeroize::Zeroize;

/// Bytes to be found again. Only their complement is in memory, but for what [`plaintext`] makes.
struct Mark([u8; 16]);

impl Mark {
    fn new() -> Self {
        let random = [0, 1].map(|it: u8| RandomState::new().hash_one(it).to_ne_bytes());
        Self(random.concat().try_into().unwrap())
    }

    /// The mark over and over.
    fn plaintext(&self, len: usize) -> Vec<u8> {
        (0..len).map(|index| !self.0[index % 16]).collect()
    }

    /// How often it is in the memory of this process.
    fn count(&self) -> usize {
        // Made before the maps are read, so that it is no new memory.
        let mut part = vec![0; 1 << 20];
        let maps = read_to_string("/proc/self/maps").unwrap();
        let memory = File::open("/proc/self/mem").unwrap();
        let mut found = 0;
        for line in maps.lines().filter(|line| line.contains(" rw")) {
            let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
            let [mut at, end] = [start, end].map(|it| u64::from_str_radix(it, 16).unwrap());
            while at < end {
                let len = part.len().min((end - at) as usize);
                // Memory that went away meanwhile holds nothing.
                let Ok(read @ 1..) = memory.read_at(&mut part[..len], at) else { break };
                let is_mark = |window: &&[u8]| window.iter().zip(&self.0).all(|(a, b)| *a == !b);
                found += part[..read].windows(16).filter(is_mark).count();
                // The copy must not be found in its own place.
                part[..read].fill(0);
                at += read as u64;
            }
        }
        found
    }
}

/// Memory above whatever was allocated before: an allocator gives only the end of its memory back to
/// the system, and there nobody could look for the mark.
fn new_fence() -> Vec<u8> {
    vec![1; 60_000]
}

/// One test: with several at once, one would find what another is still reading.
#[tokio::test]
async fn no_plaintext_stays_behind() {
    let mark = Mark::new();
    let mut plaintext = mark.plaintext(100_000);
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
    // Nothing more comes: the reader waits.
    let mut nothing = [0; 1];
    tokio::select! {
        biased;
        _ = server.read(&mut nothing) => panic!("nothing was sent"),
        () = async {} => (),
    }
    plaintext.zeroize();
    received.zeroize();
    assert_eq!(mark.count(), 0, "an idle connection holds plaintext");

    // Plaintext that nobody read before the stream was dropped.
    let mut plaintext = mark.plaintext(10_000);
    client.write_all(&plaintext).await.unwrap();
    let mut received = vec![0; 100];
    server.read_exact(&mut received).await.unwrap();
    let fences = (fence, new_fence());
    drop((client, server));
    plaintext.zeroize();
    received.zeroize();
    assert_eq!(mark.count(), 0, "a dropped connection left plaintext");
    drop(fences);

    // Early data, which waits while the handshake goes on.
    let ends = forward_secret();
    let connector = ends.connector().with_sessions(Arc::new(MemorySessionStore::default()));
    let (mut client, mut server) = connect(&connector, &ends.acceptor()).await;
    common::finish(&mut client, &mut server).await;
    let (near, far) = duplex(64 * 1024);
    let mut plaintext = mark.plaintext(6_000);
    let acceptor = ends.acceptor();
    let (client, server) = tokio::join!(
        connector.connect_with_early_data(destination(), near, &plaintext),
        acceptor.accept(far)
    );
    let ((_client, early_data), mut server) = (client.unwrap(), server.unwrap());
    assert_eq!(early_data, EarlyData::Accepted(plaintext.len()));
    let fence = new_fence();
    let mut received = vec![0; plaintext.len()];
    server.read_exact(&mut received).await.unwrap();
    assert!(server.is_early() && received == plaintext);
    tokio::select! {
        biased;
        _ = server.read(&mut nothing) => panic!("nothing was sent"),
        () = async {} => (),
    }
    plaintext.zeroize();
    received.zeroize();
    assert_eq!(mark.count(), 0, "early data stayed behind");
    drop(fence);
}
