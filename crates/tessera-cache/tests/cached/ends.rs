//! Two ends with caches.

use std::sync::Arc;

use tessera::auth::{
    Credential, PeerAcceptance, PeerIdentity, PeerRejected, PeerVerifier, PrivateKey,
    VerifierPolicy, VerifyPeer,
};
use tessera::handshake::{CertificateTransfer, ClientAuthentication};
use tessera::resume::ClientSession;
use tessera::wire::{AlertDescription, CertificateType, ExtensionType, SignatureScheme};
use tessera::{Error, Reply};
use tessera_cache::{Carrier, ClientCache, Metrics, ServerCache};
use tessera_harness::{Hello, Mode, Pair, Scene, at, plain, records};
use tessera_null_provider::{NullSigner, NullVerifier};

/// Two ends with a cache each.
pub(crate) struct Ends {
    pub(crate) scene: Scene,
    pub(crate) client: Arc<ClientCache>,
    pub(crate) server: Arc<ServerCache>,
    /// The client's carrier.
    pub(crate) carrier: Carrier,
}

/// The extensions of the carrier paper: cached_info, and BiTHaC's.
pub(crate) const CACHED_INFO: ExtensionType = ExtensionType(25);
pub(crate) const TICKETS: ExtensionType = ExtensionType(0xff5d);

impl Ends {
    /// Makes ends that both have certificates.
    pub(crate) fn new(mode: Mode) -> Self {
        Self::with(Carrier::default(), mode)
    }

    pub(crate) fn on_paper(mode: Mode) -> Self {
        Self::with(Carrier::PAPER, mode)
    }

    /// Makes ends of either carrier.
    pub(crate) fn of_both(mode: Mode) -> [Self; 2] {
        [Self::new(mode), Self::on_paper(mode)]
    }

    /// Makes ends of either carrier that know each other.
    pub(crate) fn of_both_known() -> [Self; 2] {
        let both = Self::of_both(Mode::Mutual);
        both.iter().for_each(|ends| drop(ends.connect()));
        both
    }

    fn with(carrier: Carrier, mode: Mode) -> Self {
        let provider = tessera_aws_lc::provider();
        let client = Arc::new(ClientCache::new(&provider).expect("a cache"));
        let server = Arc::new(ServerCache::new(&provider).expect("a cache"));
        let mut scene = Scene::new(provider, mode);
        scene.server.credentials = vec![chain(&[b's'; 900], &[b'i'; 700])];
        scene.client.credentials = vec![chain(&[b'c'; 800], &[b'j'; 600])];
        scene.client.verifier = Arc::new(NamingVerifier::new("servers"));
        let clients = Arc::new(NamingVerifier::new("clients"));
        scene.server.client_authentication = ClientAuthentication::Required(clients);
        let mut ends = Self { scene, client, server, carrier };
        ends.client_uses(carrier);
        ends.server_uses(carrier);
        ends
    }

    /// Gives the client a new cache with this carrier.
    pub(crate) fn client_uses(&mut self, carrier: Carrier) {
        let cache = ClientCache::new(&self.scene.client.provider).expect("a cache");
        self.client = Arc::new(cache.with_carrier(carrier));
        self.scene.client.certificate_codecs = vec![self.client.clone()];
        self.carrier = carrier;
    }

    /// Gives the server a new cache with this carrier.
    pub(crate) fn server_uses(&mut self, carrier: Carrier) {
        let cache = ServerCache::new(&self.scene.server.provider).expect("a cache");
        self.server = Arc::new(cache.with_carrier(carrier));
        self.scene.server.certificate_codecs = vec![self.server.clone()];
    }

    /// Replaces the server's cache with an empty one.
    pub(crate) fn restart_server(&mut self) {
        self.server_uses(self.carrier);
    }

    /// Makes another client of the same server.
    pub(crate) fn another_client(&self, leaf: &[u8]) -> Self {
        let (scene, client, server) =
            (self.scene.clone(), self.client.clone(), self.server.clone());
        let mut other = Self { scene, client, server, carrier: self.carrier };
        other.client_uses(self.carrier);
        other.scene.client.credentials = vec![chain(leaf, &[b'j'; 600])];
        other
    }

    /// Sets the verifier of the server's clients.
    pub(crate) fn judge_clients_by(&mut self, verifier: impl PeerVerifier + 'static) {
        self.scene.server.client_authentication =
            ClientAuthentication::Required(Arc::new(verifier));
    }

    /// Returns the extension of the ClientHello that carries tickets.
    pub(crate) fn tickets(&self) -> ExtensionType {
        match self.carrier {
            Carrier::PAPER => TICKETS,
            _ => ExtensionType::CACHED_CERTIFICATES,
        }
    }

    /// Returns the extension of the ClientHello that lists the server's chains.
    pub(crate) fn chains(&self) -> ExtensionType {
        match self.carrier {
            Carrier::PAPER => CACHED_INFO,
            _ => ExtensionType::COMPRESS_CERTIFICATE,
        }
    }

    pub(crate) fn start(&self) -> Pair {
        self.scene.start(None, at(0))
    }

    /// Makes a connection that succeeds.
    pub(crate) fn connect(&self) -> Pair {
        self.resume(None)
    }

    /// Makes a connection with a session that succeeds.
    pub(crate) fn resume(&self, session: Option<ClientSession>) -> Pair {
        let mut pair = self.scene.start(session, at(0));
        pair.run();
        let errors = (&pair.to_client.error, &pair.to_server.error);
        assert!(pair.to_client.complete && pair.to_server.complete, "{errors:?}");
        pair
    }

    /// Connects, and returns whether the server's and the client's chain were sent as hashes.
    pub(crate) fn hits(&self) -> (bool, bool) {
        hits_of(&self.connect())
    }

    pub(crate) fn metrics(&self) -> (Metrics, Metrics) {
        (self.client.metrics(), self.server.metrics())
    }
}

/// Returns whether the server's and the client's chain were sent as hashes.
pub(crate) fn hits_of(pair: &Pair) -> (bool, bool) {
    let came = |transfer: Option<CertificateTransfer>| {
        transfer.is_some_and(|it| it.encoded_with.is_some() || it.len == ABBREVIATED)
    };
    (came(pair.client.facts().peer_certificate), came(pair.server.facts().peer_certificate))
}

/// Length of an abbreviated message of the carrier paper: header, length and hash.
pub(crate) const ABBREVIATED: u32 = 4 + 1 + 32;

/// Makes a chain of data that is no certificate.
pub(crate) fn chain(leaf: &[u8], issuer: &[u8]) -> Credential {
    let key = PrivateKey::Signs(Arc::new(NullSigner));
    Credential::new(vec![leaf.to_vec(), issuer.to_vec()], key)
}

/// Accepts any signature of the null provider, with the beginning of the leaf as the identity.
pub(crate) struct NamingVerifier {
    pub(crate) policy: &'static str,
    pub(crate) types: &'static [CertificateType],
    pub(crate) refuses: Option<AlertDescription>,
}

impl NamingVerifier {
    pub(crate) fn new(policy: &'static str) -> Self {
        Self { policy, types: &[CertificateType::X509], refuses: None }
    }
}

impl PeerVerifier for NamingVerifier {
    fn schemes(&self) -> &[SignatureScheme] {
        NullVerifier.schemes()
    }

    fn certificate_types(&self) -> &[CertificateType] {
        self.types
    }

    fn policy(&self) -> VerifierPolicy {
        VerifierPolicy::new(self.policy)
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        if let Some(alert) = self.refuses {
            return Reply::Now(Err(PeerRejected { alert, reason: "tests".to_owned() }));
        }
        let leaf = question.chain.first().map(|leaf| leaf[..16].to_vec());
        let blob = leaf.unwrap_or_default();
        match NullVerifier.verify(question) {
            Reply::Now(Ok(_)) => Reply::Now(Ok(PeerIdentity { blob, expires_at: None }.into())),
            other => other,
        }
    }

    fn is_proof_right(&self, question: &VerifyPeer) -> bool {
        matches!(NullVerifier.verify(question), Reply::Now(Ok(_)))
    }
}

/// Returns this extension of the first ClientHello.
pub(crate) fn in_hello(pair: &Pair, typ: ExtensionType) -> Option<Vec<u8>> {
    let sent = match pair.client_output.as_slice() {
        [] => &pair.client_sent[..],
        waiting => waiting,
    };
    Hello::read(&records(sent)[0][5..]).extension(typ).cloned()
}

/// Returns a flight that begins with a ClientHello, changed.
pub(crate) fn edit_hello(flight: &[u8], edit: impl Fn(&mut Hello)) -> Vec<u8> {
    let records = records(flight);
    let mut hello = Hello::read(&records[0][5..]);
    edit(&mut hello);
    let mut edited = plain(tessera::wire::ContentType::HANDSHAKE, &hello.write());
    records[1..].iter().for_each(|record| edited.extend_from_slice(record));
    edited
}

/// Returns the alert of an error.
pub(crate) fn alert(error: &Option<Error>) -> Option<AlertDescription> {
    error.as_ref().and_then(Error::alert)
}
