//! A client's configuration, shared by all its connections.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use crate::auth::{
    AcceptedCertificates, CertificateCodecFactory, ConnectionCodecs, Credential, PeerVerifier,
    types_of,
};
use crate::crypto::{KeyAgreement, Provider, Suite};
use crate::error::Error;
use crate::handshake::config::{Checked, Common, Config, check};
use crate::key_log::KeyLog;
use crate::limits::Limits;
use crate::linked::{Certificates, Sessions};
use crate::padding::Padding;
use crate::resume::{
    ClientSession, ExternalPsk, FlightHandle, KnownServerKey, OfferEarlyData, PskKind,
    ReconnectPolicy,
};
use crate::time::Clock;
use crate::wire::{
    CertificateType, CipherSuite, MaxFragmentLength, NamedGroup, OpaqueExtension, PskModes,
    RecordSizeLimit, SmallExtensions,
};

/// What a client offers and accepts. Build it once, call [`checked`](Self::checked), and share the result.
#[derive(Clone)]
pub struct ClientConfig {
    /// The cryptography.
    pub provider: Provider,
    /// Judges servers.
    pub verifier: Arc<dyn PeerVerifier>,
    /// Which ways to reconnect the client offers.
    pub policy: ReconnectPolicy<OfferEarlyData>,
    /// The owner's count of changes that the verifier doesn't see: sessions of another epoch are not
    /// offered, and neither are those whose server another verifier accepted. Don't lower it while sessions
    /// of a higher epoch are kept. Default: 0.
    pub policy_epoch: u64,
    /// Offer sessions whose age is unknown ([`SessionClock::Lost`](crate::resume::SessionClock::Lost)): those that a
    /// device without a date kept through a restart. Default: off.
    ///
    /// This client then no longer ends their lifetime, nor counts the time without power towards
    /// `max_authentication_age`: it relies on the server to refuse what is too old, and accepts a server that it
    /// authenticated at any time in the past. Such a session goes with a key exchange and without early data, since the
    /// server can't tell a fresh ClientHello from an old one.
    pub resume_sessions_of_unknown_age: bool,
    /// The suites to offer, in order. Default: all of the provider.
    pub suites: Vec<CipherSuite>,
    /// The groups to offer, in order. The client sends shares for the first, and if that is post-quantum,
    /// for the first classical one too. Default: all of the provider.
    pub groups: Vec<NamedGroup>,
    /// The application protocols to offer, in order.
    pub protocols: Vec<Vec<u8>>,
    /// The client's certificates, for servers that ask; of those that fit best, the first
    /// is sent.
    pub credentials: Vec<Credential>,
    /// The forms in which certificates may travel, both ways, in order of preference (RFC 8879).
    /// Default: only whole.
    pub certificate_codecs: Vec<Arc<dyn CertificateCodecFactory>>,
    /// Lets data be sent to a server that authenticates with a KEM as soon as its certificate is accepted
    /// (docs/kem-auth.md §7). Default: off.
    ///
    /// Only the holder of the certificate's key can read the data, but whether it is there, and received what this client
    /// sent, is known a round trip later, with its Finished. Until then an attacker in the path may have replaced the key
    /// share: if the static key is ever stolen, they can open what they recorded.
    pub data_to_implicitly_authenticated_servers: bool,
    /// The largest record to receive, in bytes of plaintext and content type (RFC 8449): 64 to 16,385; `None` for the
    /// protocol's own limit.
    ///
    /// Servers that don't know the extension ignore it. From 513 to 16,384 the client therefore also offers the largest
    /// max_fragment_length below it (RFC 6066 §4), which then limits both directions, and which OpenSSL and mbedTLS
    /// know. The records of a ServerHello are not limited.
    pub record_size_limit: Option<u16>,
    /// What this side accepts of its peer.
    pub limits: Limits,
    /// Whether to send meaningless values among the real ones (GREASE, RFC 8701). Default: off.
    ///
    /// They expose servers and middleboxes that fail to ignore unknown values. They don't help the
    /// connection itself, cost some fifty bytes, and it fails with a peer that mishandles them. For clients
    /// that connect to many unknown servers.
    pub grease: bool,
    /// How this side pads its records.
    pub padding: Padding,
    /// How long a handshake may take.
    pub handshake_timeout: Duration,
    /// Receives the secrets of every connection: for debugging only.
    pub key_log: Option<Arc<dyn KeyLog>>,
}

impl ClientConfig {
    /// Creates a configuration with safe defaults.
    pub fn new(provider: Provider, verifier: Arc<dyn PeerVerifier>) -> Self {
        Self {
            suites: provider.suites.iter().map(|suite| suite.id).collect(),
            groups: provider.default_groups(),
            provider,
            verifier,
            policy: ReconnectPolicy::default(),
            policy_epoch: 0,
            resume_sessions_of_unknown_age: false,
            protocols: Vec::new(),
            credentials: Vec::new(),
            certificate_codecs: Vec::new(),
            data_to_implicitly_authenticated_servers: false,
            record_size_limit: None,
            limits: Limits::default(),
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

    /// Returns the provider's suite, if this configuration offers it.
    pub(crate) fn suite(&self, id: CipherSuite) -> Option<&'static Suite> {
        self.suites.contains(&id).then(|| self.provider.suite(id)).flatten()
    }

    /// Returns the provider's key agreement, if this configuration offers it.
    pub(crate) fn group(&self, id: NamedGroup) -> Option<&'static dyn KeyAgreement> {
        self.groups.contains(&id).then(|| self.provider.group(id)).flatten()
    }

    /// Iterates over the kinds of one-time keys that this client can answer: it must be able to agree on a key
    /// with their public half, and must want to.
    pub(crate) fn one_time_kinds(&self) -> impl Iterator<Item = NamedGroup> {
        let wanted = Sessions::linked().filter(|_| self.policy.early_data.forward_secret.is_some());
        let symmetric = self.policy.early_data.one_time_psks_forward_secret_only_if_deleted;
        wanted.into_iter().flat_map(move |_| {
            let kinds = self.provider.one_time_keys.iter().map(|keys| keys.kind());
            kinds
                .filter(|kind| self.group(*kind).is_some())
                .chain(symmetric.then_some(NamedGroup::ONE_TIME_PSK_FORWARD_SECRET_ONLY_IF_DELETED))
        })
    }

    /// Returns the types of its own certificates.
    pub(crate) fn own_certificate_types(&self) -> Vec<CertificateType> {
        Certificates::linked().map(|_| types_of(&self.credentials)).unwrap_or_default()
    }

    /// Returns the types of certificates that it accepts of servers.
    pub(crate) fn server_certificate_types(&self) -> &[CertificateType] {
        Certificates::linked().map(|_| self.verifier.certificate_types()).unwrap_or_default()
    }

    /// Returns the modes in which this client uses a PSK of this kind.
    pub(crate) fn psk_modes(&self, kind: PskKind) -> PskModes {
        let policy = &self.policy;
        kind.modes(policy.psk_only_without_forward_secrecy, policy.early_data.forward_secret)
    }

    /// Returns the small extensions of a ClientHello.
    pub(super) fn small_extensions(&self) -> SmallExtensions {
        SmallExtensions {
            record_size_limit: self.record_size_limit.map(RecordSizeLimit),
            max_fragment_length: self.record_size_limit.and_then(MaxFragmentLength::within),
            // More in a row would look like a flood to this same client.
            ticket_request: (self.policy.resumption)
                .then(|| self.policy.tickets.at_most(self.limits.tickets)),
            ..SmallExtensions::default()
        }
    }

    /// Returns what this client accepts of servers.
    pub(crate) fn accepted_certificates<'a>(
        &'a self,
        codecs: &'a ConnectionCodecs,
    ) -> AcceptedCertificates<'a> {
        AcceptedCertificates { verifier: &*self.verifier, codecs }
    }
}

impl Config for ClientConfig {
    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn common(&self) -> Common<'_> {
        Common {
            provider: &self.provider,
            // Without certificates and sessions nothing asks who accepted a server.
            verifier: (Certificates::linked().is_some() || Sessions::linked().is_some())
                .then_some(&*self.verifier),
            also_accepted: &[],
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
}

/// Where one connection goes, and how it resumes there.
#[derive(Debug, Default)]
pub struct Destination {
    /// The name that the server's certificate must be valid for; sent as server_name unless it is an
    /// IP address.
    pub server_name: String,
    /// The port of the connection, for certificate codecs whose memory depends on
    /// it: see [`ServerInfo::port`](crate::auth::ServerInfo::port). Not used otherwise.
    pub port: Option<u16>,
    /// A session with this server. Remove it from its store, durably, before use. Ignored if another
    /// verifier accepted its server, or a PSK that is not in `external_psks` authenticated it.
    pub session: Option<Box<ClientSession>>,
    /// The static key of a KEM that this server has (docs/kem-auth.md §9): it is authenticated by its key alone, without a
    /// certificate, in one round trip. A server that doesn't have the key, or asks for a certificate, makes a full handshake.
    ///
    /// Observers see which key it is, by a hash.
    pub known_server_key: Option<Box<KnownServerKey>>,
    /// PSKs agreed with this server outside of TLS.
    pub external_psks: Vec<ExternalPsk>,
    /// Earlier forward-secret flights to this server whose fate is unknown: at most eight.
    /// [`Facts::receipts`](crate::handshake::Facts::receipts) has the answers. Servers answer clients
    /// that present a session or a PSK; in a full handshake all receipts are unknown.
    pub ask_receipts: Vec<FlightHandle>,
    /// Owner-defined extensions, sent in every ClientHello: at most 16, with 16 KiB in all.
    /// [`Facts::peer_extensions`](crate::handshake::Facts::peer_extensions) has the server's answers.
    pub extensions: Vec<OpaqueExtension>,
    /// Measures how long a flight was under way whose key was lost when the server restarted:
    /// [`Verdict::Burned`](crate::resume::Verdict::Burned) if it was short enough. Without a clock such
    /// flights are `Unknown`.
    pub clock: Option<Arc<dyn Clock>>,
}
