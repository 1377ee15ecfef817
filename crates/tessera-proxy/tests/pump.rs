//! What a pump carries, and how it ends.

use tessera_proxy::pump::{End, Side, pump};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

#[tokio::test]
async fn both_directions_are_carried_until_both_have_ended() {
    let (mut client, a) = duplex(1000);
    let (b, mut server) = duplex(1000);
    let pumped = tokio::spawn(pump(a, b));
    client.write_all(b"question").await.unwrap();
    let mut question = [0; 8];
    server.read_exact(&mut question).await.unwrap();
    assert_eq!(&question, b"question");
    client.shutdown().await.unwrap();
    assert_eq!(server.read(&mut question).await.unwrap(), 0, "the end is told");
    server.write_all(b"an answer to a half-closed connection").await.unwrap();
    server.shutdown().await.unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    assert_eq!(answer, "an answer to a half-closed connection");
    let pumped = pumped.await.unwrap();
    assert_eq!((pumped.a_to_b, pumped.b_to_a), (8, 37));
    assert!(matches!(pumped.end, End::Closed { first: Side::A }), "{pumped:?}");
}
