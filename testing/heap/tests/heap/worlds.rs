//! Configurations of every kind.

use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

use tessera::auth::{Credential, PeerVerifier, PrivateKey};
use tessera::handshake::{ClientAuthentication, Reply};
use tessera::resume::{ExternalPsk, OpenTicket, SessionState, TicketKeys};
use tessera::wire::{
    CipherSuite, ExtensionType, NamedGroup, OpaqueExtension, SignatureScheme, TicketRequest,
};
use tessera::{ClientConfig, Destination, Limits, Padding, ServerConfig};
use tessera_harness::Numbers;
use tessera_heap_tests::off_heap;
use tessera_null_provider::{NullSigner, NullVerifier};

use crate::provider::{PROVIDER, WITH_KEMS};
use crate::static_keys::{AnyChain, KEMS, StaticKey};

/// Tickets whose own work takes nothing.
struct Tickets;

impl TicketKeys for Tickets {
    fn seal(&self, session: &SessionState, _: Duration) -> Option<Vec<u8>> {
        off_heap(|| Some(session.encode().to_vec()))
    }

    fn open(&self, question: &OpenTicket) -> Reply<Option<SessionState>> {
        Reply::Now(SessionState::decode(&question.identity))
    }
}

/// Parts of configurations.
pub struct Random<'n> {
    pub numbers: &'n mut Numbers,
}

impl Random<'_> {
    fn below_one_of(&mut self, bounds: &[usize]) -> usize {
        let bound = *self.numbers.pick(bounds);
        self.numbers.below(bound)
    }

    fn some<T: Clone>(&mut self, all: &[T]) -> Vec<T> {
        let mut some: Vec<T> = Vec::new();
        for one in all {
            if self.numbers.happens(60) {
                some.push(one.clone());
            }
        }
        if some.is_empty() {
            some.push(self.numbers.pick(all).clone());
        }
        if self.numbers.happens(50) {
            some.reverse();
        }
        some
    }

    fn limits(&mut self) -> Limits {
        let handshake_message = 256 + self.below_one_of(&[1, 300, 3000, 20_000]);
        let more = self.below_one_of(&[1, 300, 3000, 20_000]);
        Limits {
            handshake_message,
            certificate_message: handshake_message + more,
            client_hello: 256 + self.below_one_of(&[2000, 6000, 40_000]),
            tickets: *self.numbers.pick(&[0, 1, 2, 5, 32]),
        }
    }

    fn padding(&mut self) -> Padding {
        match self.numbers.below(4) {
            0 => {
                Padding::MultipleOf(NonZeroU16::new(1 + self.numbers.below(20_000) as u16).unwrap())
            }
            _ => Padding::None,
        }
    }

    fn record_size(&mut self) -> Option<u16> {
        let size = 64 + self.numbers.below(16_322) as u16;
        self.numbers.happens(60).then_some(size)
    }

    fn credential(&mut self, kem: Option<SignatureScheme>) -> Credential {
        let chain = (0..=self.numbers.below(4)).map(|_| vec![0x30; 1 + self.numbers.below(1500)]);
        let key = match kem {
            Some(kem) => PrivateKey::Decapsulates(Arc::new(StaticKey(kem))),
            None => PrivateKey::Signs(Arc::new(NullSigner)),
        };
        let mut credential = Credential::new(chain.collect(), key);
        if self.numbers.happens(20) {
            credential.ocsp_response = Some(vec![1; 1 + self.numbers.below(1000)]);
        }
        if self.numbers.happens(20) {
            credential.sct_list = Some(vec![1; 1 + self.numbers.below(1000)]);
        }
        credential
    }

    fn psks(&mut self) -> Vec<ExternalPsk> {
        let suites =
            [CipherSuite::TLS_CHACHA20_POLY1305_SHA256, CipherSuite::TLS_AES_256_GCM_SHA384];
        (0..self.numbers.below(4))
            .map(|at| {
                let identity = vec![at as u8; 1 + self.numbers.below(400)];
                let suite = *self.numbers.pick(&suites);
                ExternalPsk::new(identity, vec![7; 32].into(), suite)
            })
            .collect()
    }

    fn extensions(&mut self) -> Vec<OpaqueExtension> {
        (0..self.numbers.below(3))
            .map(|at| OpaqueExtension {
                typ: ExtensionType(0xff80 + at as u16),
                contents: vec![9; self.numbers.below(500)],
            })
            .collect()
    }

    fn protocols(&mut self) -> Vec<Vec<u8>> {
        (0..self.numbers.below(4))
            .map(|at| vec![at as u8 + 1; 1 + self.numbers.below(200)])
            .collect()
    }
}

/// Two ends.
pub struct World {
    pub client: ClientConfig,
    pub server: ServerConfig,
    server_name: String,
    psks: Vec<ExternalPsk>,
    extensions: Vec<OpaqueExtension>,
    known_server_key: Option<StaticKey>,
}

impl World {
    pub fn random(random: &mut Random<'_>) -> Self {
        let suites: Vec<_> = PROVIDER.suites.iter().map(|suite| suite.id).collect();
        let groups = [NamedGroup::X25519, NamedGroup::X25519MLKEM768, NamedGroup::SECP256R1];
        let client_suites = random.some(&suites);
        let kem = random.numbers.happens(40).then(|| *random.numbers.pick(&KEMS));
        let verifier = || -> Arc<dyn PeerVerifier> {
            match kem {
                Some(kem) => Arc::new(AnyChain([kem])),
                None => Arc::new(NullVerifier),
            }
        };
        let mut client = ClientConfig::new(WITH_KEMS, verifier());
        client.suites = client_suites;
        client.groups = random.some(&groups);
        client.limits = random.limits();
        client.protocols = random.protocols();
        client.grease = random.numbers.happens(30);
        client.padding = random.padding();
        client.record_size_limit = random.record_size();
        client.policy.resumption = random.numbers.happens(70);
        let request = TicketRequest {
            new_session_count: random.numbers.below(8) as u8,
            resumption_count: random.numbers.below(8) as u8,
        };
        client.policy.tickets = request;
        client.policy.psk_only_without_forward_secrecy = random.numbers.happens(20);
        if random.numbers.happens(40) {
            client.credentials = vec![random.credential(kem)];
        }
        let mut server = ServerConfig::new(WITH_KEMS, vec![random.credential(kem)]);
        server.suites = random.some(&suites);
        server.groups = random.some(&groups);
        server.limits = random.limits();
        server.protocols =
            client.protocols.iter().filter(|_| random.numbers.happens(60)).cloned().collect();
        server.padding = random.padding();
        server.record_size_limit = random.record_size();
        server.scope = vec![1; random.numbers.below(200)];
        server.policy.psk_only_without_forward_secrecy = random.numbers.happens(20);
        server.policy.tickets = TicketRequest { new_session_count: 8, resumption_count: 8 };
        server.grease = random.numbers.happens(30);
        if random.numbers.happens(70) {
            server.tickets = Some(Arc::new(Tickets));
        }
        server.client_authentication = match random.numbers.below(3) {
            0 => ClientAuthentication::None,
            1 => ClientAuthentication::Optional(verifier()),
            _ => ClientAuthentication::Required(verifier()),
        };
        let psks = random.psks();
        server.external_psks =
            psks.iter().filter(|_| random.numbers.happens(50)).cloned().collect();
        let extensions = random.extensions();
        server.extensions = extensions
            .iter()
            .map(|it| OpaqueExtension {
                contents: vec![1; random.numbers.below(300)],
                ..it.clone()
            })
            .collect();
        let server_name = "a".repeat(random.numbers.below(60)) + ".example";
        let psks = psks.into_iter().filter(|psk| client.suites.contains(&psk.suite)).collect();
        let known_server_key = kem.filter(|_| random.numbers.happens(40)).map(StaticKey);
        Self { client, server, server_name, psks, extensions, known_server_key }
    }

    pub fn knows_key(&self) -> bool {
        self.known_server_key.is_some()
    }

    pub fn to(&self) -> Destination {
        Destination {
            server_name: self.server_name.clone(),
            external_psks: self.psks.clone(),
            extensions: self.extensions.clone(),
            known_server_key: self.known_server_key.as_ref().map(StaticKey::known),
            ..Destination::default()
        }
    }
}
