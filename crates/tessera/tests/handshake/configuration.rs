//! An impossible configuration is refused when it is built, with the field and what would be right.

use std::sync::Arc;
use std::time::Duration;

use tessera::auth::{
    CertificateCodecFactory, CertificateCompression, CertificateNotDecoded, Credential,
    PeerAcceptance, PeerRejected, PeerVerifier, VerifierPolicy, VerifyPeer,
};
use tessera::handshake::{ClientAuthentication, ConfigChooser, Reply};
use tessera::resume::{Carrier, ExternalPsk, FlightHandle, ImportablePsk, OneTimeKeyGuard};
use tessera::wire::{
    CertificateCompressionAlgorithm, CertificateType, CipherSuite, NamedGroup, SignatureScheme,
};
use tessera::{ClientConfig, ClientConnection, Destination, Error, Output, ServerConfig};
use tessera_harness::{Mode, OneVault, Pair, Scene, at, credential, to};
use tessera_null_provider::NullVerifier;

fn scene() -> Scene {
    Scene::new(tessera_null_provider::provider(), Mode::Full)
}

fn guard() -> OneTimeKeyGuard {
    OneTimeKeyGuard::new(Arc::new(OneVault::default()))
}

/// A verifier of these types and names that is never asked.
struct Names(&'static [CertificateType], Vec<Vec<u8>>);

impl PeerVerifier for Names {
    fn schemes(&self) -> &[SignatureScheme] {
        &[SignatureScheme::ED25519]
    }
    fn certificate_types(&self) -> &[CertificateType] {
        self.0
    }
    fn authorities(&self) -> &[Vec<u8>] {
        &self.1
    }
    fn policy(&self) -> VerifierPolicy {
        NullVerifier.policy()
    }
    fn verify(&self, _: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        Reply::Later
    }
}

/// A verifier that can check nothing.
struct NoSchemes;

impl PeerVerifier for NoSchemes {
    fn schemes(&self) -> &[SignatureScheme] {
        &[]
    }
    fn policy(&self) -> VerifierPolicy {
        NullVerifier.policy()
    }
    fn verify(&self, _: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        Reply::Later
    }
}

/// A codec that is never used.
struct UnusedCodec;

impl CertificateCompression for UnusedCodec {
    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm(1)
    }
    fn compress(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
    fn decompress(&self, _: &[u8], _: &mut [u8]) -> Result<usize, CertificateNotDecoded> {
        Err(CertificateNotDecoded::Malformed)
    }
}

fn external(identity_len: usize, secret_len: usize) -> ExternalPsk {
    let suite = CipherSuite::TLS_AES_128_GCM_SHA256;
    ExternalPsk::new(vec![1; identity_len], vec![1; secret_len].into(), suite)
}

/// What both sides refuse, and the error's text.
macro_rules! of_both_sides {
    ($config:ty, $check:ident) => {
        let $check = |change: &dyn Fn(&mut $config), text: &str| $check(change, text);
        let suites = "suites: name at least one that the provider has";
        $check(&|config| config.suites.clear(), suites);
        $check(&|config| config.suites = vec![CipherSuite(0)], suites);
        let groups = "groups: name at least one that the provider has";
        $check(&|config| config.groups.clear(), groups);
        $check(&|config| config.groups = vec![NamedGroup(0)], groups);
        let suites = "suites: at most 64, each once";
        $check(&|config| config.suites.push(config.suites[0]), suites);
        let groups = "groups: at most 64, each once";
        $check(&|config| config.groups.push(config.groups[0]), groups);
        $check(&|config| config.groups.extend((0x1000..0x1040).map(NamedGroup)), groups);
        let protocols = "protocols: 1 to 255 bytes each, 4,096 in all";
        $check(&|config| config.protocols = vec![vec![]], protocols);
        $check(&|config| config.protocols = vec![vec![1; 256]], protocols);
        $check(&|config| config.protocols = vec![vec![1; 255]; 17], protocols);
        let size = "record_size_limit: 64 to 16,385 bytes";
        $check(&|config| config.record_size_limit = Some(63), size);
        $check(&|config| config.record_size_limit = Some(16_386), size);
        let limits =
            "limits: 256 bytes to 16 MiB, certificate_message at least handshake_message, and at most 32 tickets";
        $check(&|config| config.limits.handshake_message = 255, limits);
        $check(&|config| config.limits.client_hello = 255, limits);
        $check(&|config| config.limits.certificate_message = 1 << 24, limits);
        $check(&|config| config.limits.certificate_message = 128 * 1024 - 1, limits);
        $check(&|config| config.limits.tickets = 33, limits);
        let timeout = "handshake_timeout: must be above zero";
        $check(&|config| config.handshake_timeout = Duration::ZERO, timeout);
        let codecs = "certificate_codecs: at most 127, of different algorithms";
        let twice = || -> Vec<Arc<dyn CertificateCodecFactory>> {
            vec![Arc::new(UnusedCodec), Arc::new(UnusedCodec)]
        };
        $check(&|config| config.certificate_codecs = twice(), codecs);

        let types = "certificate_types: X509, RAW_PUBLIC_KEY or both";
        let with = |change: &dyn Fn(&mut Credential), text: &str| {
            let mut wrong = credential();
            change(&mut wrong);
            $check(&|config| config.credentials = vec![wrong.clone()], text);
        };
        with(&|wrong| wrong.certificate_type = CertificateType(7), types);
        with(
            &|wrong| {
                wrong.certificate_type = CertificateType::RAW_PUBLIC_KEY;
                wrong.chain = vec![vec![1], vec![2]];
            },
            "credentials: a chain with a raw public key has nothing else",
        );
        let chain =
            "credentials: a chain must have at least one certificate, no empty one, and at most 8 MiB in all";
        with(&|wrong| wrong.chain.clear(), chain);
        with(&|wrong| wrong.chain.push(Vec::new()), chain);
        with(&|wrong| wrong.chain.push(vec![1; 1 << 23]), chain);
        with(
            &|wrong| wrong.ocsp_response = Some(Vec::new()),
            "credentials: ocsp_response must not be empty: use None",
        );
        with(
            &|wrong| wrong.sct_list = Some(vec![0, 3, 0]),
            "credentials: sct_list is a whole SignedCertificateTimestampList (RFC 6962 §3.3)",
        );
        with(
            &|wrong| wrong.ocsp_response = Some(vec![1; 65_524]),
            "credentials: ocsp_response and sct_list must have at most 65,523 bytes together",
        );
    };
}

/// The verifiers that neither side can use.
fn verifiers() -> [(Arc<dyn PeerVerifier>, &'static str); 3] {
    let names =
        "verifier: names of authorities must not be empty, and must have at most 16 KiB in all";
    let types = "certificate_types: X509, RAW_PUBLIC_KEY or both";
    [
        (Arc::new(Names(&[CertificateType::X509], vec![vec![]])), names),
        (Arc::new(Names(&[], vec![])), types),
        (Arc::new(NoSchemes), "verifier: schemes must have at least one that it can check"),
    ]
}

#[test]
fn a_bad_client_configuration_is_refused_with_the_field_and_the_fix() {
    let check = |change: &dyn Fn(&mut ClientConfig), text: &str| {
        let mut config = scene().client;
        change(&mut config);
        let error = config.checked().err();
        assert!(matches!(error, Some(Error::Configuration(said)) if said == text), "{error:?}");
    };
    of_both_sides!(ClientConfig, check);
    for (verifier, text) in verifiers() {
        check(&|config| config.verifier = verifier.clone(), text);
    }
}

#[test]
fn a_bad_server_configuration_is_refused_with_the_field_and_the_fix() {
    let check = |change: &dyn Fn(&mut ServerConfig), text: &str| {
        let mut config = scene().server;
        change(&mut config);
        let error = config.checked().err();
        assert!(matches!(error, Some(Error::Configuration(said)) if said == text), "{error:?}");
    };
    of_both_sides!(ServerConfig, check);
    for (verifier, text) in verifiers() {
        let asks = |config: &mut ServerConfig| {
            config.client_authentication = ClientAuthentication::Optional(verifier.clone());
        };
        check(&asks, text);
    }
    check(
        &|config| {
            config.credentials.clear();
            config.tickets = None;
        },
        "credentials: give at least one, or external_psks, tickets or a chooser",
    );
    for psk in [external(0, 32), external(65_536, 32), external(1, 0)] {
        let text = "external_psks: an identity has 1 to 65,535 bytes, and a secret is not empty";
        check(&|config| config.external_psks = vec![psk.clone()], text);
    }
    check(
        // The secrets differ: only the first would ever be used.
        &|config| config.external_psks = vec![external(3, 32), external(2, 32), external(3, 33)],
        "external_psks: each identity once",
    );
    check(&|config| config.scope = vec![1; 257], "scope: at most 256 bytes");
    let week = Duration::from_secs(7 * 24 * 3600);
    check(
        &|config| config.ticket_lifetime = week + Duration::from_secs(1),
        "ticket_lifetime: at most seven days",
    );
    for kinds in [vec![], vec![NamedGroup(0)]] {
        let guard = OneTimeKeyGuard { kinds, ..guard() };
        check(
            &|config| config.policy.early_data.forward_secret = Some(guard.clone()),
            "policy.early_data.forward_secret.kinds: name at least one that the provider has",
        );
    }
    let guard = OneTimeKeyGuard { lifetime: Duration::from_secs(24 * 3600 + 1), ..guard() };
    check(
        &|config| config.policy.early_data.forward_secret = Some(guard.clone()),
        "policy.early_data.forward_secret.lifetime: at most a day",
    );
}

#[test]
fn a_server_configuration_needs_at_least_one_way_to_prove_itself() {
    struct RejectingVerifier;
    impl ConfigChooser for RejectingVerifier {
        fn choose(
            &self,
            _: &tessera::handshake::ChooseConfig,
        ) -> Reply<Result<tessera::handshake::Checked<ServerConfig>, tessera::handshake::NoConfig>>
        {
            Reply::Later
        }
    }
    let ways: [&dyn Fn(&mut ServerConfig); 4] = [
        &|config| config.credentials = vec![credential()],
        &|config| config.external_psks = vec![external(1, 32)],
        &|config| config.tickets = scene().server.tickets,
        &|config| config.chooser = Some(Arc::new(RejectingVerifier)),
    ];
    for way in ways {
        let mut config = ServerConfig::new(tessera_null_provider::provider(), Vec::new());
        way(&mut config);
        assert!(config.checked().is_ok());
    }
}

#[test]
fn a_bad_destination_is_refused_with_the_field_and_the_fix() {
    let other = ExternalPsk::new(b"psk".to_vec(), vec![1; 32].into(), CipherSuite(0));
    let psks = |external_psks| Destination { external_psks, ..to(None) };
    let sizes = "external_psks: an identity has 1 to 8,192 bytes, and a secret is not empty";
    for (destination, text) in [
        (
            Destination { server_name: "a".repeat(256), ..to(None) },
            "server_name: at most 255 bytes",
        ),
        (
            Destination { server_name: "server.example:443".into(), ..to(None) },
            "server_name: a DNS name in ASCII or an IP address, without a port",
        ),
        (
            Destination { server_name: "not a name".into(), ..to(None) },
            "server_name: a DNS name in ASCII or an IP address, without a port",
        ),
        (
            Destination { ask_receipts: vec![FlightHandle([7; 32]); 9], ..to(None) },
            "ask_receipts: at most eight flights at a time",
        ),
        (psks(vec![other]), "external_psks: add the PSK's suite to the configuration's suites"),
        (psks(vec![external(0, 32)]), sizes),
        (psks(vec![external(8193, 32)]), sizes),
        (psks(vec![external(1, 0)]), sizes),
        (
            psks(vec![external(8192, 32), external(8192, 32), external(1, 32)]),
            "external_psks: identities of at most 16 KiB in all",
        ),
    ] {
        let scene = scene();
        let started = Pair::start(&scene.client, &scene.server, destination, at(0));
        let error = started.err();
        assert!(matches!(error, Some(Error::Configuration(said)) if said == text), "{error:?}");
    }
}

#[test]
fn a_bad_importable_psk_is_refused_with_the_field_and_the_fix() {
    let good = ImportablePsk {
        external_identity: b"device 7".to_vec(),
        secret: vec![1; 32].into(),
        context: Vec::new(),
        suite: CipherSuite::TLS_AES_128_GCM_SHA256,
    };
    let sizes = "an importable PSK: an identity of 1 to 4,096 bytes, a context of up to 4,096, and \
                 a secret";
    for (psk, text) in [
        (ImportablePsk { external_identity: Vec::new(), ..good.clone() }, sizes),
        (ImportablePsk { context: vec![1; 4097], ..good.clone() }, sizes),
        (ImportablePsk { secret: Vec::new().into(), ..good.clone() }, sizes),
        (
            ImportablePsk { suite: CipherSuite(0), ..good },
            "an importable PSK: its suite is not among the provider's",
        ),
    ] {
        let error = psk.import(&tessera_null_provider::provider(), Carrier::STREAM).err();
        assert!(matches!(error, Some(Error::Configuration(said)) if said == text), "{error:?}");
    }
}

#[test]
fn a_server_name_that_no_hello_has_room_for_is_refused() {
    let scene = scene();
    let destination = Destination { server_name: "a".repeat(70_000), ..to(None) };
    let started = ClientConnection::start(
        scene.client.checked().expect("works"),
        destination,
        at(0),
        &mut Output::new(),
    );
    assert!(matches!(started.err(), Some(Error::Configuration(_))));
}

#[test]
fn a_client_with_an_endless_handshake_timeout_starts() {
    let mut scene = scene();
    scene.client.handshake_timeout = Duration::MAX;
    let client = scene.client.checked().expect("works");
    let connection = ClientConnection::start(client, to(None), at(1), &mut Output::new());
    assert_eq!(connection.expect("starts").deadline(), Some(Duration::MAX));
}
