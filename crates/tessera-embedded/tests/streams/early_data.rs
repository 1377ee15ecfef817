//! Early data and sessions, in both roles.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use embedded_io_adapters::tokio_1::FromTokio;
use embedded_io_async::{Read as _, Write as _};
use tessera::crypto::Provider;
use tessera::handshake::EarlyDataStatus;
use tessera::resume::{ReplayGuard, SessionStore};
use tessera::{ClientConfig, Destination, ServerConfig};
use tessera_tokio::MemorySessionStore;
use tessera_vault::{MemoryRegister, TicketKey, TicketKeyRing};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::ends::{Memory, Pki, acceptor, by_chain, connector, device};

const QUESTION: &[u8] = b"question";
const ANSWER: &[u8] = b"answer";

fn with_early_data(client: &mut ClientConfig, server: &mut ServerConfig, provider: &Provider) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let day = Duration::from_secs(24 * 3600);
    let ring = TicketKeyRing::new(provider);
    ring.add(TicketKey::generate(provider, now, day, day).unwrap(), now).unwrap();
    server.tickets = Some(Arc::new(ring));
    let register = Arc::new(MemoryRegister::new(100, Duration::ZERO));
    let guard = ReplayGuard { register, max_early_data_size: 1000 };
    server.policy.early_data.replayable_without_forward_secrecy = Some(guard);
    client.policy.early_data.replayable_without_forward_secrecy = true;
}

#[tokio::test]
async fn a_client_resumes_with_early_data_from_its_store() {
    let pki = Pki::new();
    let (mut client, mut server) = (pki.device_client(), pki.server());
    with_early_data(&mut client, &mut server, &tessera_aws_lc::provider());
    let store = Arc::new(MemorySessionStore::default());
    let connector = connector(client).with_sessions(store.clone());
    let peer = tessera_tokio::Acceptor::new(server.checked().unwrap());
    for round in 0..3 {
        let (device_end, peer_end) = tokio::io::duplex(4096);
        let peer = async {
            let mut stream = peer.accept(peer_end).await.unwrap();
            let mut question = [0; QUESTION.len()];
            stream.read_exact(&mut question).await.unwrap();
            assert_eq!((&question[..], stream.is_early()), (QUESTION, round > 0));
            stream.write_all(ANSWER).await.unwrap();
            stream.shutdown().await.unwrap();
            assert_eq!(stream.read(&mut question).await.unwrap(), 0);
        };
        let mut memory = Memory::new();
        let device = async {
            let io = FromTokio::new(device_end);
            let mut stream = connector.start(by_chain(), io, memory.lend()).unwrap();
            assert_eq!(stream.early_data_room() > 0, round > 0);
            let sent = stream.write_early(QUESTION).unwrap();
            stream.handshake().await.unwrap();
            let status = stream.facts().early_data;
            let expected = [EarlyDataStatus::NotOffered, EarlyDataStatus::Accepted];
            assert_eq!(status, expected[usize::from(round > 0)]);
            stream.write_all(&QUESTION[sent..]).await.unwrap();
            let mut answer = [0; ANSWER.len()];
            stream.read_exact(&mut answer).await.unwrap();
            assert_eq!(answer, ANSWER);
            assert_eq!(stream.read(&mut answer).await.unwrap(), 0);
            stream.close().await.unwrap();
        };
        tokio::join!(peer, device);
    }
    assert!(store.pop(crate::ends::SERVER_NAME).is_some(), "tickets were kept");
}

#[tokio::test]
async fn a_server_reads_early_data_before_its_handshake_is_complete() {
    let pki = Pki::new();
    let (mut client, mut server) = (pki.client(), pki.device_server());
    with_early_data(&mut client, &mut server, &device());
    let acceptor = acceptor(server);
    let store = Arc::new(MemorySessionStore::default());
    let peer = tessera_tokio::Connector::new(client.checked().unwrap()).with_sessions(store);
    for round in 0..3 {
        let (device_end, peer_end) = tokio::io::duplex(4096);
        let peer = async {
            let destination: Destination = by_chain();
            let mut stream = peer.start(destination, peer_end).await.unwrap();
            let sent = stream.handshake_with_early_data(QUESTION).await;
            let is_sent = matches!(sent, tessera_tokio::EarlyData::Accepted { .. });
            assert_eq!(is_sent, round > 0);
            if !is_sent {
                stream.write_all(QUESTION).await.unwrap();
            }
            let mut answer = Vec::new();
            stream.shutdown().await.unwrap();
            stream.read_to_end(&mut answer).await.unwrap();
            assert_eq!(answer, ANSWER);
        };
        let mut memory = Memory::new();
        let device = async {
            let io = FromTokio::new(device_end);
            let mut stream = acceptor.accept(io, memory.lend()).await.unwrap();
            assert_eq!(stream.is_handshake_complete(), round == 0);
            let mut question = [0; QUESTION.len()];
            stream.read_exact(&mut question).await.unwrap();
            assert_eq!((&question[..], stream.is_early()), (QUESTION, round > 0));
            stream.write_all(ANSWER).await.unwrap();
            stream.close().await.unwrap();
            assert!(stream.is_handshake_complete(), "its tickets were sent");
            assert_eq!(stream.read(&mut question).await.unwrap(), 0);
        };
        tokio::join!(peer, device);
    }
}
