//! Configurations that are replaced while connections are made.

use std::sync::{Arc, Weak};

use crate::common::{self, connect, destination, ends, finish};
use tessera::ServerConfig;
use tessera::handshake::{Checked, Reply};
use tessera::resume::{AcceptResumption, ResumptionJudge, ResumptionVerdict};
use tessera_tokio::{Acceptor, ClientStream, ServerStream};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, duplex};

/// Returns the server's configuration with only this protocol.
fn speaking(ends: &common::Ends, protocol: &[u8]) -> Checked<ServerConfig> {
    let mut config = ends.server.clone();
    config.protocols = vec![protocol.to_vec()];
    config.checked().unwrap()
}

fn two_protocols() -> common::Ends {
    let mut ends = ends();
    ends.client.protocols = vec![b"old".to_vec(), b"new".to_vec()];
    ends
}

async fn works<IO: AsyncRead + AsyncWrite + Unpin>(
    client: &mut ClientStream<IO>,
    server: &mut ServerStream<IO>,
) {
    client.write_all(b"ping").await.unwrap();
    client.flush().await.unwrap();
    let mut ping = [0; 4];
    server.read_exact(&mut ping).await.unwrap();
    assert_eq!(&ping, b"ping");
}

#[tokio::test]
async fn a_replaced_configuration_counts_for_new_connections_only() {
    let ends = two_protocols();
    let acceptor = Acceptor::new(speaking(&ends, b"old"));
    let clone = acceptor.clone();
    let connector = ends.connector();

    let (mut old_client, mut old_server) = connect(&connector, &clone).await;
    // Started, but nothing read yet.
    let (near, far) = duplex(64 * 1024);
    let mut waiting = clone.start(far).unwrap();
    acceptor.replace(speaking(&ends, b"new"));

    let (mut client, mut server) = connect(&connector, &clone).await;
    assert_eq!(server.protocol(), Some(&b"new"[..]));
    works(&mut client, &mut server).await;
    finish(&mut client, &mut server).await;

    assert_eq!(old_server.protocol(), Some(&b"old"[..]));
    works(&mut old_client, &mut old_server).await;
    let (client, handshake) =
        tokio::join!(connector.connect(destination(), near), waiting.handshake());
    handshake.unwrap();
    assert_eq!(client.unwrap().protocol(), Some(&b"old"[..]));
}

#[tokio::test]
async fn the_configuration_of_a_connector_is_replaced_for_all_its_clones() {
    let ends = ends();
    let (connector, acceptor) = (ends.connector(), ends.acceptor());
    let clone = connector.clone();
    let (_client, server) = connect(&clone, &acceptor).await;
    assert_eq!(server.protocol(), None);

    let mut config = ends.client.clone();
    config.protocols = vec![b"new".to_vec()];
    connector.replace(config.checked().unwrap());
    let acceptor = Acceptor::new(speaking(&ends, b"new"));
    let (_client, server) = connect(&clone, &acceptor).await;
    assert_eq!(server.protocol(), Some(&b"new"[..]));
}

/// Each connection uses one whole configuration while others replace it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_see_one_whole_configuration_while_it_is_replaced() {
    let ends = two_protocols();
    let configs = [speaking(&ends, b"old"), speaking(&ends, b"new")];
    let acceptor = Acceptor::new(configs[0].clone());
    let replacing = {
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            for config in configs.iter().cycle() {
                acceptor.replace(config.clone());
                tokio::task::yield_now().await;
            }
        })
    };
    let connector = ends.connector();
    for _ in 0..50 {
        let (mut client, mut server) = connect(&connector, &acceptor).await;
        assert!(client.protocol().is_some());
        assert_eq!(client.protocol(), server.protocol());
        works(&mut client, &mut server).await;
    }
    replacing.abort();
}

/// A part of a configuration, to observe when that is dropped.
struct Part;

impl ResumptionJudge for Part {
    fn judge(&self, _: &AcceptResumption) -> Reply<ResumptionVerdict> {
        Reply::Now(ResumptionVerdict::Accept)
    }
}

/// Of a thousand configurations replaced under load only those in use remain.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn configurations_that_were_replaced_are_gone_with_their_connections() {
    let ends = ends();
    let parts = std::cell::RefCell::new(Vec::<Weak<Part>>::new());
    let next = || {
        let part = Arc::new(Part);
        parts.borrow_mut().push(Arc::downgrade(&part));
        let mut config = ends.server.clone();
        config.judge = Some(part);
        config.checked().unwrap()
    };
    let alive = || parts.borrow().iter().filter(|part| part.strong_count() > 0).count();
    let acceptor = Acceptor::new(next());
    let connector = ends.connector();
    let (mut client, mut server) = connect(&connector, &acceptor).await;
    let load = {
        let (connector, acceptor) = (connector.clone(), acceptor.clone());
        tokio::spawn(async move {
            for _ in 0..50 {
                let (mut client, mut server) = connect(&connector, &acceptor).await;
                works(&mut client, &mut server).await;
            }
        })
    };
    for _ in 0..1000 {
        acceptor.replace(next());
        tokio::task::yield_now().await;
    }
    load.await.unwrap();
    assert_eq!(acceptor.generation(), 1001);
    // The acceptor's own. Complete connections keep none alive.
    assert_eq!(alive(), 1);
    works(&mut client, &mut server).await;
}
