//! A reset is not an end, whichever operation sees it first.

use std::io::ErrorKind;

use tessera_proxy::pump::{End, Side, pump};
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest, duplex};
use tokio::net::{TcpListener, TcpStream};

#[tokio::test]
async fn a_reset_that_a_write_sees_is_reported_as_a_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut side = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (mut peer, _) = listener.accept().await.unwrap();
    peer.write_all(b"last words").await.unwrap();
    peer.set_zero_linger().unwrap();
    drop(peer);
    while !side.ready(Interest::READABLE).await.unwrap().is_read_closed() {
        tokio::task::yield_now().await;
    }
    let (mut near, mut far) = duplex(1024);
    near.write_all(b"request").await.unwrap();
    let pumped = pump(&mut far, &mut side).await;
    let End::Failed { side: Side::B, error, .. } = pumped.end else { panic!("{pumped:?}") };
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    // Earlier data is delivered, but not as complete.
    let mut said = [0; 10];
    near.read_exact(&mut said).await.unwrap();
    assert_eq!(&said, b"last words");
    let more = tokio::time::timeout(std::time::Duration::ZERO, near.read(&mut said)).await;
    assert!(more.is_err(), "{more:?}");
}
