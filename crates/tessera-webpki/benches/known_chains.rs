//! What a client spares that knows the server's chain, and what it pays where it never does: processor time of
//! its side of full handshakes with P-256 chains. `cargo bench -p tessera-webpki --bench known_chains`, with
//! `-- HANDSHAKES ROUNDS` for other numbers; bench/README.md has results.
// It runs on a developer's machine, which works or is told.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::env;
use std::sync::Arc;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, Issuer, KeyPair, date_time_ymd,
};
use tessera::auth::{Credential, PeerVerifier, PrivateKey};
use tessera::handshake::Checked;
use tessera::wire::NamedGroup;
use tessera::{
    ClientConfig, ClientConnection, Destination, Output, ReadEvent, ServerConfig, ServerConnection,
};
use tessera_aws_lc::{SigningKey, provider};
use tessera_harness::at;
use tessera_webpki::{ChainStore, KnownChains, StoreBounds, WebPkiVerifier};

fn main() {
    // Cargo adds `--bench`.
    let numbers: Vec<usize> = env::args().filter_map(|argument| argument.parse().ok()).collect();
    let [handshakes, rounds] = *numbers.as_slice() else { return run(100, 31) };
    run(handshakes.max(2), rounds.max(1));
}

const GROUPS: [(&str, NamedGroup); 2] =
    [("X25519", NamedGroup::X25519), ("X25519MLKEM768", NamedGroup::X25519MLKEM768)];

fn run(handshakes: usize, rounds: usize) {
    println!(
        "{:<16} {:>5} {:>9} {:>9} {:>7} {:>9} {:>7}",
        "client's µs", "chain", "judged", "known", "ratio", "unknown", "ratio"
    );
    for (name, group) in GROUPS {
        for len in 1..=4 {
            let pki = Pki::new(len);
            let ways =
                [Way::Judged, Way::Known, Way::Unknown].map(|way| Ends::new(&pki, way, group));
            let mut samples = [const { Vec::new() }; 3];
            for _ in 0..rounds {
                // In turn, so that what else the machine does meets all of them.
                for (ends, samples) in ways.iter().zip(&mut samples) {
                    samples.push(ends.round(handshakes).as_secs_f64() * 1e6 / handshakes as f64);
                }
            }
            let [judged, known, unknown] = samples;
            let ratio = |samples: &[f64]| {
                median(samples.iter().zip(&judged).map(|(one, judged)| one / judged).collect())
            };
            println!(
                "{name:<16} {len:>5} {:>9.1} {:>9.1} {:>7.2} {:>9.1} {:>7.3}",
                median(judged.clone()),
                median(known.clone()),
                ratio(&known),
                median(unknown.clone()),
                ratio(&unknown),
            );
        }
    }
    println!(
        "\nProcessor time of one thread in the client's engine, medians of {rounds} rounds of {handshakes} full\n\
         handshakes in turn, and of the rounds' ratios. Chain: certificates that the server sends, the root\n\
         not among them. Judged: WebPkiVerifier. Known: KnownChains, each time. Unknown: never, because its\n\
         store is too small."
    );
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_unstable_by(f64::total_cmp);
    samples[samples.len() / 2]
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Judged,
    Known,
    Unknown,
}

/// A root, and two servers below the same intermediates.
struct Pki {
    root: Vec<u8>,
    servers: [Credential; 2],
}

impl Pki {
    fn new(len: usize) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = |issuer: Option<&Issuer<'_, KeyPair>>, number: usize| {
            let mut params = params.clone();
            params.not_after = date_time_ymd(2999, 1, 1);
            params
                .distinguished_name
                .push(rcgen::DnType::CommonName, format!("authority {number}"));
            let key = KeyPair::generate().unwrap();
            match issuer {
                Some(issuer) => CertifiedIssuer::signed_by(params, key, issuer).unwrap(),
                None => CertifiedIssuer::self_signed(params, key).unwrap(),
            }
        };
        let mut issuers = vec![authority(None, 0)];
        for number in 1..len {
            issuers.push(authority(issuers.last().map(|issuer| &**issuer), number));
        }
        let servers = [(); 2].map(|()| {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new(["server.example".to_owned()]).unwrap();
            let leaf = params.signed_by(&key, issuers.last().unwrap()).unwrap();
            let mut chain = vec![leaf.der().to_vec()];
            chain.extend(issuers[1..].iter().rev().map(|issuer| issuer.der().to_vec()));
            let key = SigningKey::from_pkcs8(key.serialized_der()).unwrap();
            Credential::new(chain, PrivateKey::Signs(Arc::new(key)))
        });
        Self { root: issuers[0].der().to_vec(), servers }
    }
}

struct Ends {
    client: Checked<ClientConfig>,
    servers: [Checked<ServerConfig>; 2],
}

impl Ends {
    fn new(pki: &Pki, way: Way, group: NamedGroup) -> Self {
        let plain = WebPkiVerifier::new(&[&pki.root]).unwrap();
        let entries = if way == Way::Known { 4096 } else { 1 };
        let bounds = StoreBounds { entries, ..StoreBounds::default() };
        let store = ChainStore::new(&provider(), bounds).unwrap();
        let verifier: Arc<dyn PeerVerifier> = match way {
            Way::Judged => Arc::new(plain),
            Way::Known | Way::Unknown => Arc::new(KnownChains::new(plain, &store)),
        };
        let mut client = ClientConfig::new(provider(), verifier);
        client.groups = vec![group];
        let servers = pki
            .servers
            .each_ref()
            .map(|server| ServerConfig::new(provider(), vec![server.clone()]).checked().unwrap());
        let ends = Self { client: client.checked().unwrap(), servers };
        ends.round(4);
        let before = store.counts();
        ends.round(4);
        let hits = store.counts().hits - before.hits;
        assert_eq!(hits, if way == Way::Known { 4 } else { 0 }, "the way is what it is called");
        ends
    }

    /// So many handshakes, with one server and the other.
    fn round(&self, handshakes: usize) -> Duration {
        (0..handshakes).map(|number| self.handshake(&self.servers[number % 2])).sum()
    }

    /// One handshake: the time of the client.
    fn handshake(&self, server: &Checked<ServerConfig>) -> Duration {
        let destination =
            Destination { server_name: "server.example".into(), ..Destination::default() };
        let (mut to_server, mut to_client) = (Output::new(), Output::new());
        let mut spent = Duration::ZERO;
        let mut start = now();
        let mut client =
            ClientConnection::start(self.client.clone(), destination, at(0), &mut to_server)
                .unwrap();
        spent += now() - start;
        let mut server = ServerConnection::start(server.clone(), at(0));
        while !to_server.is_empty() || !to_client.is_empty() {
            let mut input = to_server.as_slice().to_vec();
            to_server.consume(input.len());
            let mut consumed = 0;
            loop {
                let progress = server.read(at(0), &mut input[consumed..], &mut to_client).unwrap();
                consumed += progress.consumed;
                if let ReadEvent::NeedInput = progress.event {
                    break;
                }
            }
            let mut input = to_client.as_slice().to_vec();
            to_client.consume(input.len());
            let mut consumed = 0;
            start = now();
            loop {
                let progress = client.read(at(0), &mut input[consumed..], &mut to_server).unwrap();
                consumed += progress.consumed;
                if let ReadEvent::NeedInput = progress.event {
                    break;
                }
            }
            spent += now() - start;
        }
        assert!(client.facts().handshake_complete && server.facts().handshake_complete);
        spent
    }
}

fn now() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap().into()
}
