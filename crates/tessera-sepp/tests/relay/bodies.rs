//! Long bodies stream through: data that the other end doesn't read isn't buffered.

use std::future::poll_fn;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::world::{Words, World, request};

const LENGTH: usize = 50 << 20;
const WHOLE: &str = "[limits]\nbody = \"64 MiB\"\n\
                     [guard]\nlog-only = [\"body-length\", \"content-type\"]";

/// The most that both SEPPs, the function and three connections may hold together.
const HELD: usize = 12 << 20;

/// The function echoes what it gets, as it arrives: a client that doesn't read is stopped from writing, and gets
/// everything when it reads.
#[tokio::test]
async fn fifty_megabytes_both_ways_are_never_held() {
    let world = World::new(Words { both: WHOLE, ..Words::default() }).await;
    let socket = TcpStream::connect(world.visited.sbi_address).await.unwrap();
    let (mut client, connection) = h2::client::handshake(socket).await.unwrap();
    let connection = tokio::spawn(connection);
    let head = request(Method::PUT, "/nudm-sdm/v2/imsi-999700000000001/echo")
        .header("content-type", "application/octet-stream")
        .header("content-length", LENGTH)
        .body(())
        .unwrap();
    let (response, mut stream) = client.send_request(head, false).unwrap();
    let chunk = Bytes::from(vec![7; 64 << 10]);
    let mut sent = 0;
    while sent < LENGTH {
        let wanted = chunk.len().min(LENGTH - sent);
        stream.reserve_capacity(wanted);
        // The client doesn't read, so the transfer stops.
        let capacity =
            timeout(Duration::from_secs(2), poll_fn(|cx| stream.poll_capacity(cx))).await;
        let Ok(capacity) = capacity else { break };
        let count = capacity.unwrap().unwrap().min(wanted);
        stream.send_data(chunk.slice(..count), sent + count == LENGTH).unwrap();
        sent += count;
    }
    assert!(sent < HELD, "{sent} bytes went before the receiver read one");
    let reads = tokio::spawn(async move {
        let mut body = response.await.unwrap().into_body();
        let mut received = 0;
        while let Some(data) = body.data().await {
            let data = data.unwrap();
            received += data.len();
            assert!(data.iter().all(|&byte| byte == 7));
            body.flow_control().release_capacity(data.len()).unwrap();
        }
        received
    });
    while sent < LENGTH {
        let wanted = chunk.len().min(LENGTH - sent);
        stream.reserve_capacity(wanted);
        let capacity = poll_fn(|cx| stream.poll_capacity(cx)).await.unwrap().unwrap();
        let count = capacity.min(wanted);
        stream.send_data(chunk.slice(..count), sent + count == LENGTH).unwrap();
        sent += count;
    }
    assert_eq!(reads.await.unwrap(), LENGTH);
    connection.abort();
}
