//! Programs with a signer's certificate that are slow, lie, or break off.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tessera::ServerConfig;
use tessera::crypto::Signer;
use tessera::handshake::Sign;
use tessera_aws_lc::SigningKey;
use tessera_pki::{Leaf, rcgen};
use tessera_signer::{RemoteKey, RemoteSigner};
use tessera_tokio::{Acceptor, Answers, ServerStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

use crate::common::*;

/// What a pretended signer does with a request to sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lie {
    /// It is right.
    None,
    /// It never answers.
    Silence,
    /// The signature of another message.
    AnotherMessage,
    /// The signature of another key.
    AnotherKey,
    /// An answer to a request that no one made.
    AnotherId,
    /// A pong.
    AnotherKind,
    /// Bytes that are no answer.
    Garbage,
    /// An empty signature.
    Nothing,
    /// Half an answer, and the end.
    Half,
    /// The first answer is that of the second request, and the other way round.
    Crossed,
    /// It refuses.
    Refusal,
}

/// Starts a pretended signer.
async fn pretend(world: &World, leaf: &Leaf, lie: Lie) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = world.acceptor();
    let key = Arc::new(SigningKey::from_pkcs8(&leaf.key_der()).unwrap());
    let other = world.leaf(&rcgen::PKCS_ECDSA_P256_SHA256);
    let other = Arc::new(SigningKey::from_pkcs8(&other.key_der()).unwrap());
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (acceptor, key, other) = (acceptor.clone(), key.clone(), other.clone());
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(socket).await else { return };
                let _ = serve(stream, lie, &key, &other).await;
            });
        }
    });
    address
}

async fn serve(
    mut stream: ServerStream<TcpStream>,
    lie: Lie,
    key: &SigningKey,
    other: &SigningKey,
) -> std::io::Result<()> {
    let mut first: Option<(u64, Vec<u8>)> = None;
    loop {
        let kind = stream.read_u8().await?;
        let id = stream.read_u64().await?;
        if kind == 2 {
            stream.write_all(&[&[2][..], &id.to_be_bytes()].concat()).await?;
            stream.flush().await?;
            continue;
        }
        let _scheme = stream.read_u16().await?;
        let name = stream.read_u8().await?;
        let message = stream.read_u16().await?;
        let mut rest = vec![0; usize::from(name) + usize::from(message)];
        stream.read_exact(&mut rest).await?;
        let message = rest.split_off(name.into());
        let signed = |id: u64, signature: &[u8]| {
            let len = (signature.len() as u16).to_be_bytes();
            [&[1][..], &id.to_be_bytes(), &len, signature].concat()
        };
        let right = key.sign(P256, &message).unwrap();
        let answer = match lie {
            Lie::None => signed(id, &right),
            Lie::Silence => continue,
            Lie::AnotherMessage => signed(id, &key.sign(P256, &content(&[1; 32])).unwrap()),
            Lie::AnotherKey => signed(id, &other.sign(P256, &message).unwrap()),
            Lie::AnotherId => signed(id + 1, &right),
            Lie::AnotherKind => [&[2][..], &id.to_be_bytes()].concat(),
            Lie::Garbage => vec![0xff; 64],
            Lie::Nothing => signed(id, b""),
            Lie::Half => {
                stream.write_all(&signed(id, &right)[..20]).await?;
                stream.flush().await?;
                return Ok(());
            }
            Lie::Crossed => match first.take() {
                None => {
                    first = Some((id, right));
                    continue;
                }
                Some((other, signature)) => {
                    [signed(id, &signature), signed(other, &right)].concat()
                }
            },
            Lie::Refusal => [&[3][..], &id.to_be_bytes(), &[7]].concat(),
        };
        stream.write_all(&answer).await?;
        stream.flush().await?;
    }
}

fn question(leaf: &Leaf, hash: u8) -> Sign {
    // The engine makes those of handshakes.
    let engine = content(&[hash; 32]);
    Sign::new(P256, leaf.der(), engine)
}

fn opened(
    world: &World,
    leaf: &Leaf,
    addresses: &[SocketAddr],
    deadline: Duration,
) -> RemoteSigner {
    let mut limits = limits(deadline);
    limits.connections = 1;
    let remote = world.remote(addresses, limits);
    remote.add(&RemoteKey::new(leaf.chain.clone(), "www").unwrap());
    remote
}

#[tokio::test]
async fn a_signer_that_lies_costs_the_handshake_and_no_wrong_signature_gets_out() {
    let world = World::new();
    let leaf = world.leaf(&rcgen::PKCS_ECDSA_P256_SHA256);
    for lie in [
        Lie::AnotherMessage,
        Lie::AnotherKey,
        Lie::AnotherId,
        Lie::AnotherKind,
        Lie::Garbage,
        Lie::Nothing,
        Lie::Half,
        Lie::Refusal,
        Lie::Silence,
    ] {
        let address = pretend(&world, &leaf, lie).await;
        // What is no answer ends the connection at once, and with it the request; silence does in time.
        let deadline = if lie == Lie::Silence { Duration::from_secs(2) } else { PATIENCE };
        let remote = opened(&world, &leaf, &[address], deadline);
        let begun = Instant::now();
        let answer = remote.sign(question(&leaf, 7)).await;
        assert!(answer.is_err() && begun.elapsed() < PATIENCE / 2, "{lie:?}");
        if lie == Lie::Silence {
            until("its connection stays", || remote.counts().failures > 0).await;
        }
        let counts = remote.counts();
        assert!(counts.failed == 1 && counts.signed == 0 && counts.connections > 0, "{lie:?}");
        let is_wrong = matches!(lie, Lie::AnotherMessage | Lie::AnotherKey | Lie::Nothing);
        assert_eq!(counts.wrong, u64::from(is_wrong), "{lie:?}");
        assert_eq!(counts.refused, u64::from(lie == Lie::Refusal), "{lie:?}");

        // The client sees why, and the next signer is asked.
        let server = world.server(&leaf, opened(&world, &leaf, &[address], Duration::from_secs(2)));
        let (error, _) = handshake(&world, &server).await.err().expect("with a lie");
        assert!(error.to_string().contains("INTERNAL_ERROR"), "{lie:?}: {error}");
        let right = pretend(&world, &leaf, Lie::None).await;
        let remote = opened(&world, &leaf, &[address, right], Duration::from_secs(4));
        assert!(remote.sign(question(&leaf, 7)).await.is_ok(), "{lie:?}");
    }
}

#[tokio::test]
async fn answers_of_each_other_s_requests_are_not_used() {
    let world = World::new();
    let leaf = world.leaf(&rcgen::PKCS_ECDSA_P256_SHA256);
    let address = pretend(&world, &leaf, Lie::Crossed).await;
    let remote = opened(&world, &leaf, &[address], PATIENCE);
    let (one, other) =
        tokio::join!(remote.sign(question(&leaf, 1)), remote.sign(question(&leaf, 2)));
    assert!(one.is_err() && other.is_err());
    assert_eq!(remote.counts().wrong, 2);
}

#[tokio::test]
async fn a_signer_of_another_name_or_authority_is_not_asked() {
    let world = World::new();
    let leaf = world.leaf(&rcgen::PKCS_ECDSA_P256_SHA256);
    let address = pretend(&world, &leaf, Lie::None).await;
    let other = pretend(&World::new(), &leaf, Lie::None).await;
    let named = |address: SocketAddr, name: &str| tessera_signer::SignerAddress {
        address: address.to_string(),
        server_name: name.into(),
    };
    for signer in [named(address, "other.internal"), named(other, "localhost")] {
        let limits = limits(Duration::from_millis(500));
        let remote = RemoteSigner::open(&world.client(EDGE), vec![signer], limits);
        remote.add(&RemoteKey::new(leaf.chain.clone(), "www").unwrap());
        assert!(remote.sign(question(&leaf, 1)).await.is_err());
        assert!(!connected(&remote.counts()));
        // The deadline has passed: none waits for it any more.
        let before = remote.counts().timed_out;
        assert!(remote.sign(question(&leaf, 1)).await.is_err());
        assert_eq!(remote.counts().timed_out, before);
    }
}

#[tokio::test]
async fn a_signer_that_is_connected_is_asked_before_one_that_is_not() {
    let world = World::new();
    let leaf = world.leaf(&rcgen::PKCS_ECDSA_P256_SHA256);
    let nothing = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let away = nothing.local_addr().unwrap();
    let right = pretend(&world, &leaf, Lie::None).await;
    // It doesn't complete handshakes: the deadline is long enough that it isn't given up.
    let remote = opened(&world, &leaf, &[away, right], Duration::from_secs(8));
    // The first may be early, when neither is connected.
    assert!(remote.sign(question(&leaf, 1)).await.is_ok());
    let before = remote.counts().timed_out;
    assert!(remote.sign(question(&leaf, 2)).await.is_ok());
    assert_eq!(remote.counts().timed_out, before, "it waited for the first");
    drop(nothing);
}

#[tokio::test]
async fn a_server_of_another_protocol_is_not_asked() {
    let world = World::new();
    let leaf = world.leaf(&rcgen::PKCS_ECDSA_P256_SHA256);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let own = world.authority.issue("localhost").credential();
    // Without a list of protocols it ignores that of clients.
    let config = ServerConfig::new(tessera_aws_lc::provider(), vec![own]).checked().unwrap();
    let acceptor = Acceptor::new(config);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            drop(acceptor.accept(socket).await);
        }
    });
    let remote = opened(&world, &leaf, &[address], Duration::from_millis(500));
    assert!(remote.sign(question(&leaf, 1)).await.is_err());
    assert!(!connected(&remote.counts()));
}

#[tokio::test]
async fn a_certificate_that_is_not_there_is_a_question_for_others() {
    let world = World::new();
    let leaf = world.leaf(&rcgen::PKCS_ECDSA_P256_SHA256);
    let other = world.leaf(&rcgen::PKCS_ECDSA_P256_SHA256);
    let address = pretend(&world, &leaf, Lie::None).await;
    let remote = opened(&world, &leaf, &[address], PATIENCE);
    assert!(remote.sign(question(&other, 1)).await.is_err());
    assert_eq!(remote.counts().asked, 0);
    let others = opened(&world, &other, &[pretend(&world, &other, Lie::None).await], PATIENCE);
    let remote = remote.with_others(Arc::new(others));
    assert!(remote.sign(question(&other, 1)).await.is_ok());
    assert!(remote.sign(question(&leaf, 1)).await.is_ok());
}
