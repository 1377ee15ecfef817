//! Runs the readers of peers' messages and files on millions of mutations of valid input: none panics, none
//! returns more than it got, and what is read is written back unchanged.

use std::vec::Vec;

use tessera::auth::certificate_entries;
use tessera::wire::CertificateType;
use tessera_harness::Trace;

use crate::chain::Chain;
use crate::client::ClientCache;
use crate::der;
use crate::own_chains::OwnChains;
use crate::server::ServerCache;
use crate::wire::{Content, FleetTicket, Hello};
use crate::written::{CacheKind, frame};

const ROUNDS: usize = 20_000;

/// Changes bytes, reproducibly from a seed.
pub(crate) struct Mutator(pub(crate) u64);

impl Mutator {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % end.max(1)
    }

    pub(crate) fn mutate(&mut self, of: &[u8]) -> Vec<u8> {
        let mut bytes = of.to_vec();
        for _ in 0..=self.below(4) {
            let (at, byte) = (self.below(bytes.len()), self.below(256) as u8);
            match self.below(7) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, byte),
                2 => bytes.extend((0..self.below(40)).map(|_| byte)),
                // Lengths are mostly at the beginning.
                3 if !bytes.is_empty() => {
                    let at = self.below(bytes.len().min(12));
                    bytes[at] = [0, 1, 0x7f, 0x80, 0x84, 0xfe, 0xff][self.below(7)];
                }
                4 if !bytes.is_empty() => drop(bytes.remove(at)),
                5 if !bytes.is_empty() => bytes[at] = byte,
                _ if !bytes.is_empty() => bytes[at] ^= 1 << (byte % 8),
                _ => (),
            }
        }
        bytes
    }
}

fn vectors() -> Trace {
    Trace::read(include_str!("../../../docs/cached-handshakes-vectors.txt"))
}

fn read_what_peers_say(rounds: usize) {
    let vectors = vectors();
    let sha256 = tessera_aws_lc::provider().sha256().expect("SHA-256");
    let body = &vectors.get("server chain with staples", "Certificate")[4..];
    let content = vectors.get("server chain with staples", "content");
    let chain = Chain::of_body(CertificateType::X509, body).expect("a chain");
    let own = OwnChains::default();
    let mut mutator = Mutator(1);
    for round in 0..rounds {
        let said = mutator.mutate(content);
        if let Some(read) = Content::read(&said) {
            let entries = read.entries().count();
            assert!(entries <= said.len() / 2);
            if entries == 0 || entries == chain.count() {
                let body = chain.body_with(read.extensions).expect("memory");
                assert_eq!(body.len(), chain.body_len(read.extensions.len() - 2 * entries));
                let again = Content::write(&read.chain, &body).expect("a body");
                assert!(again == said, "{round}");
            }
        }
        let with_sealed = [&content[..16], &[20], &content[..20]].concat();
        for hello in [&content[..16], &with_sealed] {
            let said = mutator.mutate(hello);
            if let Ok(hello) = Hello::read(&said) {
                assert_eq!(hello.write(), Some(said));
            }
        }
        let said = mutator.mutate(&[&[0xc0, 1][..], &with_sealed[16..]].concat());
        if let Some(ticket) = FleetTicket::read(&said) {
            assert!(ticket.write() == said && ticket.id.0 >= 0xc000, "{round}");
        }
        let said = mutator.mutate(body);
        for typ in [CertificateType::X509, CertificateType::RAW_PUBLIC_KEY] {
            let Some(read) = Chain::of_body(typ, &said) else { continue };
            assert!(read.len() < said.len());
            let body = read.body_with(&[]).expect("memory");
            let again = Chain::of_body(typ, &body).expect("a chain");
            assert!(again == read && again.hash(sha256) == read.hash(sha256), "{round}");
            for entry in certificate_entries(&body).expect("a body") {
                assert!(der::issuer(entry.certificate).len() < entry.certificate.len());
                der::expires_at(entry.certificate);
            }
            read.expires_at();
        }
        own.hash(sha256, &said);
    }
}

/// Uses the right checksum: otherwise nothing would be read.
fn read_files(rounds: usize) {
    let provider = tessera_aws_lc::provider();
    let vectors = vectors();
    let leaf = &vectors.get("chain of two", "end entity");
    let issuer = &vectors.get("chain of two", "intermediate");
    let len = |bytes: &[u8]| (bytes.len() as u32).to_be_bytes()[1..].to_vec();
    let listed = [&len(issuer)[..], issuer].concat();
    let chain = [&len(leaf)[..], leaf, &len(&listed), &listed].concat();
    let ticket = [7; 10];
    let server = [
        &[0, 3][..],
        b"one",
        &[1, 1, 0xbb, 0, 0, 0, 0, 1, 0, 1, 0, 0],
        &chain,
        &[1],
        &[9; 32],
        &[1],
        &ticket,
        &[0],
        &[0],
        // A fleet ticket.
        &[1],
        &[9; 32],
        &[0, 6, 0xc0, 1, 3, 1, 2, 3],
    ]
    .concat();
    let client = [
        &[3; 24][..],
        &[1],
        &len(&listed),
        &listed,
        &[0],
        &len(leaf),
        leaf,
        &[5; 16],
        &[0],
        &[0, 0, 0, 1],
        &[2],
        &ticket[..8],
        &[8; 8],
    ]
    .concat();
    let servers = ClientCache::new(&provider).expect("a cache");
    let clients = ServerCache::new(&provider).expect("a cache");
    let (mut mutator, mut read) = (Mutator(2), [0, 0]);
    for round in 0..rounds {
        let mutate = |mutator: &mut Mutator, of: &[u8]| match round {
            0 => of.to_vec(),
            _ => mutator.mutate(&of.repeat(1 + round % 3)),
        };
        let changed = mutate(&mut mutator, &server);
        let exported = frame(servers.sha256, CacheKind::Servers, |out| out.extend(&changed));
        read[0] += usize::from(servers.import(&exported).is_ok());
        let metrics = servers.metrics();
        assert!(metrics.entries <= 256 && metrics.bytes <= 4 << 20, "{round}");
        let changed = mutate(&mut mutator, &client);
        let exported = frame(clients.sha256, CacheKind::Clients, |out| out.extend(&changed));
        read[1] += usize::from(clients.import(&exported).is_ok());
        assert!(clients.metrics().bytes <= 64 << 20, "{round}");
        let again = clients.export();
        assert!(clients.import(&again).is_ok() && clients.export() == again, "{round}");
        if round == 0 {
            assert_eq!((read, metrics.entries, clients.metrics().entries), ([1, 1], 1, 1));
        }
    }
    assert!(read.iter().all(|read| *read > rounds / 100), "{read:?}");
}

#[test]
fn any_message_of_a_peer_is_read_or_refused() {
    read_what_peers_say(ROUNDS);
}

#[test]
fn files_are_read_or_refused_whatever_is_in_them() {
    read_files(ROUNDS / 20);
}

#[test]
#[ignore = "takes minutes"]
fn millions_of_mutations_are_read_or_refused() {
    read_what_peers_say(3_000_000);
    read_files(200_000);
}
