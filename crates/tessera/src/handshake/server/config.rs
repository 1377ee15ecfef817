//! A server's configuration, shared by all its connections.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use crate::auth::{
    AcceptedCertificates, CertificateCodecFactory, ConnectionCodecs, Credential, PeerVerifier,
    VerifierPolicy,
};
use crate::crypto::{Provider, Suite};
use crate::error::{Error, require};
use crate::handshake::config::{Checked, Common, Config, check};
use crate::key_log::KeyLog;
use crate::limits::{Limits, MAX_RECORD_SIZE_LIMIT};
use crate::padding::Padding;
use crate::question::{Question, Reply};
use crate::resume::{
    AcceptEarlyData, ExternalPsk, PskKind, ReconnectPolicy, ResumptionJudge, TicketKeys,
};
use crate::wire::{
    CipherSuite, MAX_LIFETIME, NamedGroup, OpaqueExtension, PskModes, RecordSizeLimit,
    SignatureScheme, SmallExtensions,
};

/// What a server offers and accepts. Build it once, call [`checked`](Self::checked), and share the result.
#[derive(Clone)]
pub struct ServerConfig {
    /// The cryptography.
    pub provider: Provider,
    /// Which ways to reconnect the server accepts.
    pub policy: ReconnectPolicy<AcceptEarlyData>,
    /// The suites to accept, in order of preference. Default: all of the provider.
    pub suites: Vec<CipherSuite>,
    /// Chooses among them by the client's preference, not this server's. Default: off.
    ///
    /// For pools with servers of BoringSSL, such as Envoy: those choose so on processors with AES, and resume a session
    /// only in its own suite.
    pub suites_by_the_clients_preference: bool,
    /// The groups to accept, in order of preference: a common post-quantum one goes before all
    /// classical ones, then one with a share before one that costs a round trip. Default: all
    /// of the provider.
    pub groups: Vec<NamedGroup>,
    /// Agrees on a key in a classical group if the client sent a share for one, although both support a
    /// post-quantum group. Default: off.
    ///
    /// Otherwise the client is asked for a share for the post-quantum group (HelloRetryRequest). That costs a round
    /// trip, and the early data that came with the first ClientHello is refused.
    pub classical_key_exchange_to_save_a_round_trip: bool,
    /// The application protocols to accept, in order of preference.
    pub protocols: Vec<Vec<u8>>,
    /// The server's certificates; of those that fit the client best, the first is
    /// sent.
    pub credentials: Vec<Credential>,
    /// The forms in which certificates may travel, both ways, in order of preference (RFC 8879).
    /// Default: only whole.
    pub certificate_codecs: Vec<Arc<dyn CertificateCodecFactory>>,
    /// Whether clients are asked for a certificate.
    pub client_authentication: ClientAuthentication,
    /// Chooses another configuration by server_name, protocols or signature schemes.
    pub chooser: Option<Arc<dyn ConfigChooser>>,
    /// Seals and opens tickets; without it the server sends none.
    pub tickets: Option<Arc<dyn TicketKeys>>,
    /// How long a ticket lives: at most seven days.
    pub ticket_lifetime: Duration,
    /// PSKs agreed with clients outside of TLS.
    pub external_psks: Vec<ExternalPsk>,
    /// Decides on resumptions, after the engine's own checks.
    pub judge: Option<Arc<dyn ResumptionJudge>>,
    /// What else a resumption must not cross, opaque: a session of another scope is not resumed. The scope need
    /// not cover the verifier: a session whose client another verifier accepted is always refused.
    /// At most 256 bytes.
    pub scope: Vec<u8>,
    /// The owner's count of changes that verifiers don't see, such as a deleted account, or the theft
    /// of the server's own key: sessions of another epoch are not resumed. Don't lower it, even by a
    /// restart, while tickets of a higher epoch may return. Default: 0.
    pub policy_epoch: u64,
    /// Other policies of verifiers whose clients may resume here, as if the configuration's own
    /// verifier had accepted them, such as the policy before a change of trust anchors. This widens
    /// access: the certificate is not checked again. Default: none.
    pub also_resume_peers_accepted_by: Vec<VerifierPolicy>,
    /// The largest record to receive, in bytes of plaintext and content type (RFC 8449): 64 to 16,385; `None` for the
    /// protocol's own limit.
    ///
    /// A client that offers only max_fragment_length (RFC 6066 §4) gets what it offers unless this is smaller: the
    /// extension limits both directions to one value, which a server can't lower.
    pub record_size_limit: Option<u16>,
    /// What this side accepts of its peer.
    pub limits: Limits,
    /// Owner-defined extensions of EncryptedExtensions: at most 16, with 16 KiB in all.
    ///
    /// Each is sent if the client's ClientHello has one of the same type;
    /// [`Facts::peer_extensions`](crate::handshake::Facts::peer_extensions) has the client's.
    pub extensions: Vec<OpaqueExtension>,
    /// Whether to send meaningless values among the real ones (GREASE, RFC 8701), in
    /// CertificateRequest and tickets. Default: off, since it doesn't help the connection itself.
    pub grease: bool,
    /// How this side pads its records.
    pub padding: Padding,
    /// How long a handshake may take.
    pub handshake_timeout: Duration,
    /// Receives the secrets of every connection: for debugging only.
    pub key_log: Option<Arc<dyn KeyLog>>,
}

/// Whether clients are asked for a certificate.
///
/// A resumption presents none. A ticket whose client was accepted is valid under the same verifier, in either
/// mode, and nowhere else: neither under another verifier, nor where clients are not asked. A ticket
/// without an accepted client is valid where no certificate is required.
#[derive(Clone, Default)]
pub enum ClientAuthentication {
    /// Not asked.
    #[default]
    None,
    /// Asked; a client without one is accepted without an identity. If the verifier accepts only raw public
    /// keys, a client that doesn't list them (RFC 7250) is not asked.
    Optional(Arc<dyn PeerVerifier>),
    /// Asked; a client without one is refused.
    Required(Arc<dyn PeerVerifier>),
}

impl ClientAuthentication {
    pub(crate) fn verifier(&self) -> Option<&dyn PeerVerifier> {
        match self {
            Self::None => None,
            Self::Optional(verifier) | Self::Required(verifier) => Some(&**verifier),
        }
    }

    pub(crate) fn is_required(&self) -> bool {
        matches!(self, Self::Required(_))
    }
}

/// The question which configuration serves a client: asked once per connection, on the first
/// ClientHello.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChooseConfig {
    /// server_name.
    pub server_name: Option<String>,
    /// The application protocols that the client offers, in its order.
    pub protocols: Vec<Vec<u8>>,
    /// The signature schemes that the client can check, in its order.
    pub signature_schemes: Vec<SignatureScheme>,
}

impl Question for ChooseConfig {
    type Answer = Result<Checked<ServerConfig>, NoConfig>;
}

/// No configuration for this client: the handshake ends with unrecognized_name, or with missing_extension if the
/// client sent no name (RFC 8446 §9.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoConfig;

/// Chooses the configuration of a connection.
pub trait ConfigChooser: Send + Sync {
    /// Chooses, now or later.
    fn choose(&self, question: &ChooseConfig) -> Reply<Result<Checked<ServerConfig>, NoConfig>>;
}

impl ServerConfig {
    /// Creates a configuration with safe defaults and these certificates.
    pub fn new(provider: Provider, credentials: Vec<Credential>) -> Self {
        Self {
            suites: provider.suites.iter().map(|suite| suite.id).collect(),
            groups: provider.default_groups(),
            provider,
            suites_by_the_clients_preference: false,
            classical_key_exchange_to_save_a_round_trip: false,
            policy: ReconnectPolicy::default(),
            protocols: Vec::new(),
            credentials,
            certificate_codecs: Vec::new(),
            client_authentication: ClientAuthentication::None,
            chooser: None,
            tickets: None,
            ticket_lifetime: Duration::from_secs(24 * 3600),
            external_psks: Vec::new(),
            judge: None,
            scope: Vec::new(),
            policy_epoch: 0,
            also_resume_peers_accepted_by: Vec::new(),
            record_size_limit: None,
            limits: Limits::default(),
            extensions: Vec::new(),
            grease: false,
            padding: Padding::None,
            handshake_timeout: Duration::from_secs(10),
            key_log: None,
        }
    }

    /// Checks what types can't. The error names the field, and what would be right.
    pub fn checked(self) -> Result<Checked<Self>, Error> {
        check(self)
    }

    /// Returns the provider's suite, if this configuration accepts it.
    pub(crate) fn suite(&self, id: CipherSuite) -> Option<&'static Suite> {
        self.suites.contains(&id).then(|| self.provider.suite(id)).flatten()
    }

    /// Returns the modes in which this server uses a PSK of this kind.
    pub(crate) fn psk_modes(&self, kind: PskKind) -> PskModes {
        let policy = &self.policy;
        let continuation =
            policy.early_data.forward_secret.as_ref().map(|guard| guard.continuation);
        kind.modes(policy.psk_only_without_forward_secrecy, continuation)
    }

    /// Returns the small extensions of EncryptedExtensions, in answer to the `offered` ones of the ClientHello.
    pub(super) fn small_extensions(&self, offered: &SmallExtensions) -> SmallExtensions {
        let own_limit = self.record_size_limit.unwrap_or(MAX_RECORD_SIZE_LIMIT);
        let record_size_limit = offered.record_size_limit.map(|_| RecordSizeLimit(own_limit));
        // RFC 8449 §5: not both.
        let fragment = offered.max_fragment_length.filter(|_| record_size_limit.is_none());
        SmallExtensions {
            record_size_limit,
            max_fragment_length: fragment.filter(|it| it.record_size() <= own_limit),
            ..SmallExtensions::default()
        }
    }

    /// Returns what this server accepts of clients, if it asks them for certificates.
    pub(crate) fn accepted_certificates<'a>(
        &'a self,
        codecs: &'a ConnectionCodecs,
    ) -> Option<AcceptedCertificates<'a>> {
        let verifier = self.client_authentication.verifier()?;
        Some(AcceptedCertificates { verifier, codecs })
    }
}

impl Config for ServerConfig {
    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn common(&self) -> Common<'_> {
        Common {
            provider: &self.provider,
            verifier: self.client_authentication.verifier(),
            also_accepted: &self.also_resume_peers_accepted_by,
            policy_epoch: self.policy_epoch,
            credentials: &self.credentials,
            certificate_codecs: &self.certificate_codecs,
            suites: &self.suites,
            groups: &self.groups,
            protocols: &self.protocols,
            record_size_limit: self.record_size_limit,
            handshake_timeout: self.handshake_timeout,
            key_log: self.key_log.as_deref(),
        }
    }

    fn check_own(&self) -> Result<(), Error> {
        let authenticates = !self.credentials.is_empty() || !self.external_psks.is_empty();
        require(
            authenticates || self.tickets.is_some() || self.chooser.is_some(),
            "credentials: give at least one, or external_psks, tickets or a chooser",
        )?;
        let is_psk = |psk: &ExternalPsk| {
            (1..=65_535).contains(&psk.identity.len()) && !psk.secret.is_empty()
        };
        require(
            self.external_psks.iter().all(is_psk),
            "external_psks: an identity has 1 to 65,535 bytes, and a secret is not empty",
        )?;
        // Only the first would ever match, whatever the others' secrets are.
        let identities: BTreeSet<_> = self.external_psks.iter().map(|psk| &psk.identity).collect();
        let is_once = identities.len() == self.external_psks.len();
        require(is_once, "external_psks: each identity once")?;
        OpaqueExtension::check_all(&self.extensions)?;
        require(self.scope.len() <= 256, "scope: at most 256 bytes")?;
        let longest = Duration::from_secs(MAX_LIFETIME.into());
        require(self.ticket_lifetime <= longest, "ticket_lifetime: at most seven days")?;
        let guard = self.policy.early_data.forward_secret.as_ref();
        guard.map_or(Ok(()), |guard| guard.check(&self.provider))
    }
}
