//! Every future is dropped after each poll, and the connection continues as if nothing had happened.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::common::{Client, Server, bytes, connect, destination, ends, finish, forward_secret};
use tessera_tokio::MemorySessionStore;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

/// Polls a future once, then drops it.
fn poll_once<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// Calls each side in turn until it is done; every future lives for one poll.
async fn alternate(mut client: impl FnMut() -> bool, mut server: impl FnMut() -> bool) -> usize {
    let (mut client_done, mut server_done) = (false, false);
    for polls in 0..1_000_000 {
        client_done = client_done || client();
        server_done = server_done || server();
        if client_done && server_done {
            return polls;
        }
        // A task that never yields would exhaust its budget.
        tokio::task::yield_now().await;
    }
    panic!("nothing moves: client {client_done}, server {server_done}");
}

async fn shake_hands(client: &mut Client, server: &mut Server) -> usize {
    alternate(
        || poll_once(client.handshake()).map(Result::unwrap).is_some(),
        || poll_once(server.handshake()).map(Result::unwrap).is_some(),
    )
    .await
}

#[tokio::test]
async fn a_handshake_goes_on_after_each_dropped_poll() {
    let ends = ends();
    for capacity in [1, 10, 1000, 64 * 1024] {
        let (near, far) = duplex(capacity);
        let mut client = ends.connector().start(destination(), near).await.unwrap();
        let mut server = ends.acceptor().start(far).unwrap();
        let polls = shake_hands(&mut client, &mut server).await;
        assert!(capacity > 1 || polls > 1000, "{polls} polls");
    }
}

#[tokio::test]
async fn reads_and_writes_go_on_after_each_dropped_poll() {
    let ends = ends();
    for capacity in [10, 1000, 40_000] {
        let (near, far) = duplex(capacity);
        let mut client = ends.connector().start(destination(), near).await.unwrap();
        let mut server = ends.acceptor().start(far).unwrap();
        // No handshake first: reading and writing drive it.
        let data = bytes(100_000);
        let (mut sent, mut received) = (0, Vec::new());
        alternate(
            || {
                if sent < data.len() {
                    sent += poll_once(client.write(&data[sent..])).map_or(0, Result::unwrap);
                    return false;
                }
                poll_once(client.shutdown()).map(Result::unwrap).is_some()
            },
            || {
                let mut buffer = [0; 7000];
                match poll_once(server.read(&mut buffer)).map(Result::unwrap) {
                    None => false,
                    Some(0) => true,
                    Some(count) => {
                        received.extend_from_slice(&buffer[..count]);
                        false
                    }
                }
            },
        )
        .await;
        assert!(received == data);
    }
}

#[tokio::test]
async fn early_data_goes_on_after_each_dropped_poll() {
    let ends = forward_secret();
    let store = Arc::new(MemorySessionStore::default());
    let connector = ends.connector().with_sessions(store);
    let (mut client, mut server) = connect(&connector, &ends.acceptor()).await;
    finish(&mut client, &mut server).await;

    let (near, far) = duplex(100);
    let mut client = connector.start(destination(), near).await.unwrap();
    let mut server = ends.acceptor().start(far).unwrap();
    let data = bytes(10_000);
    let (mut sent, mut received) = (0, Vec::new());
    alternate(
        || {
            if sent < data.len() {
                sent += poll_once(client.write_early(&data[sent..])).map_or(0, Result::unwrap);
                return false;
            }
            poll_once(client.handshake()).map(Result::unwrap).is_some()
        },
        || {
            let mut buffer = [0; 700];
            let count = poll_once(server.read(&mut buffer)).map_or(0, Result::unwrap);
            received.extend_from_slice(&buffer[..count]);
            assert!(count == 0 || server.is_early());
            server.is_handshake_complete() && received.len() == data.len()
        },
    )
    .await;
    assert!(received == data);
}

/// A waiting task is always woken: one half of a stream never replaces the other's waker.
#[tokio::test]
async fn both_halves_of_a_stream_may_drive_its_handshake() {
    let ends = ends();
    for capacity in [1, 100, 64 * 1024] {
        let (near, far) = duplex(capacity);
        let client = ends.connector().start(destination(), near).await.unwrap();
        let server = ends.acceptor().start(far).unwrap();
        let mut tasks = Vec::new();
        let (mut client_read, mut client_write) = client.split();
        let (mut server_read, mut server_write) = server.split();
        tasks.push(tokio::spawn(async move {
            client_write.write_all(&bytes(5000)).await.unwrap();
            client_write.shutdown().await.unwrap();
        }));
        tasks.push(tokio::spawn(async move {
            server_write.write_all(&bytes(5000)).await.unwrap();
            server_write.shutdown().await.unwrap();
        }));
        tasks.push(tokio::spawn(async move {
            assert_eq!(client_read.read_to_end(&mut Vec::new()).await.unwrap(), 5000);
        }));
        tasks.push(tokio::spawn(async move {
            assert_eq!(server_read.read_to_end(&mut Vec::new()).await.unwrap(), 5000);
        }));
        for task in tasks {
            task.await.unwrap();
        }
    }
}
