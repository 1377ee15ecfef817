//! Every way to begin.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tessera::EarlyDataStatus;
use tessera::auth::PrivateKey;
use tessera::crypto::{Signer, SigningError};
use tessera::handshake::Sign;
use tessera::resume::PskKind;
use tessera_tokio::{Answer, Answers};
use tokio::time::sleep;

use crate::common::{destination, ends, forward_secret, replayable};
use crate::world::{World, exchange, soon};

#[tokio::test]
async fn a_full_handshake_and_a_resumption_connect_both_ends() {
    let world = World::new(&ends()).await;
    for psk in [None, Some(PskKind::Resumption)] {
        let (client, server) = soon(world.connect()).await;
        soon(exchange(&client, &server)).await;
        assert_eq!((client.facts().psk, server.facts().psk), (psk, psk));
        assert!(client.is_handshake_complete() && server.is_handshake_complete());
        assert_eq!(
            server.peer_addr().map(|it| it.port()),
            Some(client.local_addr().unwrap().port())
        );
        let mut keys = [[0; 32]; 2];
        client.export_keying_material(b"label", b"", &mut keys[0]).unwrap();
        server.export_keying_material(b"label", b"", &mut keys[1]).unwrap();
        assert!(keys[0] == keys[1] && keys[0] != [0; 32]);
        // A stranger's first hello and its answer are on no association of the server's. An acknowledgement may be under
        // way.
        let have_arrived = || {
            let [from_server, to_server] = client.bytes();
            let [from_client, to_client] = server.bytes();
            to_server >= from_client && from_server >= to_client && to_client > 0
        };
        soon(async {
            while !have_arrived() {
                sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        soon(server.close()).await;
        assert!(soon(client.recv()).await.unwrap().is_none());
        soon(client.close()).await;
    }
    let counts = world.listener.counts();
    assert_eq!((counts.cookies_opened, counts.cookies_refused), (1, 0));
}

/// A busy server may accept a client that is connected already.
#[tokio::test]
async fn a_connection_began_with_its_hello_whenever_it_is_accepted() {
    let world = World::new(&ends()).await;
    let before = Instant::now();
    let client = soon(world.connector.connect(world.address, destination())).await.unwrap();
    let connected = Instant::now();
    let server = soon(world.listener.accept()).await.unwrap();
    assert!(before <= client.started() && client.started() < server.started());
    assert!(server.started() < connected);
}

#[tokio::test]
async fn data_of_every_length_up_to_the_most_arrives_and_more_is_refused() {
    let world = World::new(&ends()).await;
    let (client, server) = soon(world.connect()).await;
    let most = client.max_data();
    assert!((1000..1200).contains(&most), "{most}");
    for len in [1, 2, 100, most] {
        soon(client.send(&vec![7; len])).await.unwrap();
        assert_eq!(soon(server.recv()).await.unwrap().unwrap()[..], vec![7; len]);
    }
    let refused = soon(client.send(&vec![7; most + 1])).await.unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::InvalidInput);
    soon(exchange(&client, &server)).await;
}

#[tokio::test]
async fn early_data_is_answered_before_the_handshake_is_complete() {
    for (ends, psk) in
        [(forward_secret(), PskKind::ForwardSecret), (replayable(), PskKind::Resumption)]
    {
        let world = World::new(&ends).await;
        // A register refuses tickets that are as old as itself.
        sleep(Duration::from_millis(5)).await;
        soon(world.prepare()).await;
        let client = world.connector.start(world.address, destination()).await.unwrap();
        assert!(client.early_data_room() > 100);
        assert!(client.write_early(b"early").unwrap());
        // Nothing is sent before it is used: then the early data travels with the ClientHello.
        let (server, ()) = soon(async {
            let serving = async {
                let server = world.listener.accept().await?;
                let early = server.recv().await?.unwrap();
                assert!(early.is_early() && early[..] == *b"early");
                server.send(b"answer").await?;
                Ok(server)
            };
            tokio::try_join!(serving, client.handshake()).unwrap()
        })
        .await;
        assert_eq!(soon(client.recv()).await.unwrap().unwrap()[..], *b"answer");
        let facts = client.facts();
        assert_eq!((facts.psk, facts.early_data), (Some(psk), EarlyDataStatus::Accepted));
        assert_eq!(facts.early_records_taken, Some(1));
        soon(server.handshake()).await.unwrap();
        soon(client.send(b"late")).await.unwrap();
        let late = soon(server.recv()).await.unwrap().unwrap();
        assert!(!late.is_early() && late[..] == *b"late");
        assert!(!client.write_early(b"too late").unwrap());
    }
}

#[tokio::test]
async fn without_a_ticket_no_early_data_is_taken() {
    let world = World::new(&forward_secret()).await;
    let client = world.connector.start(world.address, destination()).await.unwrap();
    assert_eq!((client.early_data_room(), client.write_early(b"early").unwrap()), (0, false));
}

/// Signs in another task.
struct RemoteSigner(Arc<dyn Signer>);

impl Answers for RemoteSigner {
    fn sign(&self, question: Sign) -> Answer<Result<Vec<u8>, SigningError>> {
        let signer = self.0.clone();
        let task = tokio::spawn(async move {
            sleep(Duration::from_millis(100)).await;
            signer.sign(question.scheme, &question.message)
        });
        Box::pin(async move { task.await.unwrap() })
    }
}

#[tokio::test]
async fn a_question_is_answered_by_another_task_while_the_client_sends_again() {
    let mut ends = ends();
    let PrivateKey::Signs(signer) = ends.server.credentials[0].key.clone() else { panic!("here") };
    ends.server.credentials[0].key = PrivateKey::Elsewhere(signer.schemes().to_vec());
    let acceptor = ends.acceptor().with_answers(Arc::new(RemoteSigner(signer)));
    let world = World::with(acceptor, ends.connector()).await;
    let (client, server) = soon(world.connect()).await;
    soon(exchange(&client, &server)).await;
}

#[tokio::test]
async fn new_connections_use_a_replaced_configuration() {
    let mut ends = ends();
    let world = World::new(&ends).await;
    let (client, server) = soon(world.connect()).await;
    ends.server.protocols = vec![b"new".to_vec()];
    world.acceptor.replace(ends.server.clone().checked().unwrap());
    let mut client_config = ends.client.clone();
    client_config.protocols = vec![b"new".to_vec()];
    world.connector.connector().replace(client_config.checked().unwrap());
    let (newer_client, newer_server) = soon(world.connect()).await;
    assert_eq!(newer_client.facts().protocol.as_deref(), Some(&b"new"[..]));
    assert_eq!((server.generation(), newer_server.generation()), (1, 2));
    soon(exchange(&client, &server)).await;
}
