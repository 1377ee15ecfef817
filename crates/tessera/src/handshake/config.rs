//! A configuration is checked once, when it is built, so that a broken one fails before any connection.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Deref;
use core::time::Duration;

use crate::auth::{
    CertificateCodecFactory, Credential, KeyId, PeerVerifier, PrivateKey, VerifierPolicy,
    check_certificates,
};
use crate::crypto::{Decapsulator, Provider, SHA256_LEN, Suite};
use crate::error::{Error, require};
use crate::key_log::KeyLog;
use crate::limits::{Limits, MAX_RECORD_SIZE_LIMIT};
use crate::linked::KnownKeys;
use crate::resume::AuthenticationScope;
use crate::wire::{CipherSuite, NamedGroup};

/// A checked configuration, shared by its connections. It is cheap to clone.
///
/// Only [`ClientConfig::checked`] and [`ServerConfig::checked`] make one, and its contents don't
/// change. To derive another configuration, clone the inner one, change the clone and check it:
///
/// ```
/// use tessera::handshake::Checked;
/// use tessera::{Error, ServerConfig};
///
/// fn renamed(config: &Checked<ServerConfig>) -> Result<Checked<ServerConfig>, Error> {
///     let mut config = ServerConfig::clone(config);
///     config.protocols = vec![b"h2".to_vec()];
///     config.checked()
/// }
/// ```
///
/// [`ClientConfig::checked`]: super::ClientConfig::checked
/// [`ServerConfig::checked`]: super::ServerConfig::checked
pub struct Checked<C>(Arc<Shared<C>>);

struct Shared<C> {
    config: C,
    authentication: AuthenticationScope,
    /// The ids of credentials' static keys that clients may know, each with the credential's index.
    known_keys: Vec<(KeyId, usize)>,
}

/// Checks what types can't.
pub(super) fn check<C: Config>(config: C) -> Result<Checked<C>, Error> {
    config.common().check()?;
    config.limits().check()?;
    config.check_own()?;
    Ok(settle(config))
}

/// Asks the verifier what it accepts, once for all connections.
pub(super) fn settle<C: Config>(config: C) -> Checked<C> {
    let Common { verifier, also_accepted, policy_epoch, provider, credentials, .. } =
        config.common();
    let authentication = AuthenticationScope::new(verifier, also_accepted, policy_epoch, provider);
    let sha256 = provider.sha256().filter(|_| KnownKeys::linked().is_some());
    let known_keys = sha256.map_or_else(Vec::new, |sha256| {
        let ids = credentials.iter().map(|own| own.key.known_by(sha256)).enumerate();
        ids.filter_map(|(index, id)| Some((id?, index))).collect()
    });
    Checked(Arc::new(Shared { config, authentication, known_keys }))
}

impl<C> Checked<C> {
    /// Returns where sessions are valid, as far as the configuration's verifier decides.
    pub(super) fn authentication(&self) -> &AuthenticationScope {
        &self.0.authentication
    }
}

impl<C: Config> Checked<C> {
    /// Returns the first suite with SHA-256, the hash of a PSK without a stated one (RFC 8446 §4.2.11).
    pub(super) fn suite_with_sha256(&self) -> Option<&'static Suite> {
        let Common { suites, provider, .. } = self.0.config.common();
        let mut suites = suites.iter().filter_map(|id| provider.suite(*id));
        suites.find(|suite| suite.hash.len() == SHA256_LEN)
    }

    /// Returns whether clients may know a static key of this side.
    pub(super) fn has_known_keys(&self) -> bool {
        !self.0.known_keys.is_empty()
    }

    /// Returns this side's first static key with this id.
    pub(super) fn key_known_by(&self, id: &KeyId) -> Option<&dyn Decapsulator> {
        let (_, credential) = self.0.known_keys.iter().find(|(known, _)| known == id)?;
        match &self.0.config.common().credentials[*credential].key {
            PrivateKey::Decapsulates(key) => Some(&**key),
            _ => None,
        }
    }
}

impl<C> Clone for Checked<C> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<C> Deref for Checked<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.0.config
    }
}

/// The configuration of one role.
pub trait Config {
    /// Returns what both roles' configurations have.
    fn common(&self) -> Common<'_>;

    /// Returns what this side accepts.
    fn limits(&self) -> &Limits;

    /// Checks the rest.
    fn check_own(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// What both roles' configurations have in common.
pub struct Common<'a> {
    pub(super) provider: &'a Provider,
    pub(super) verifier: Option<&'a dyn PeerVerifier>,
    pub(super) also_accepted: &'a [VerifierPolicy],
    pub(super) policy_epoch: u64,
    pub(super) credentials: &'a [Credential],
    pub(super) certificate_codecs: &'a [Arc<dyn CertificateCodecFactory>],
    pub(super) suites: &'a [CipherSuite],
    pub(super) groups: &'a [NamedGroup],
    pub(super) protocols: &'a [Vec<u8>],
    pub(super) record_size_limit: Option<u16>,
    pub(super) handshake_timeout: Duration,
    pub(super) key_log: Option<&'a dyn KeyLog>,
}

impl Common<'_> {
    /// Checks what types can't.
    fn check(&self) -> Result<(), Error> {
        let Self { provider, suites, groups, protocols, record_size_limit, .. } = *self;
        check_certificates(self.verifier, self.credentials, self.certificate_codecs)?;
        let accepted = self.verifier.map(|verifier| verifier.schemes()).unwrap_or_default();
        let own = self.credentials.iter().flat_map(|own| own.key.schemes());
        let mut kems =
            accepted.iter().chain(own).filter(|scheme| scheme.kem().is_some()).peekable();
        let uses_kems = kems.peek().is_some();
        let has_kems = kems.all(|scheme| provider.kem(*scheme).is_some());
        require(has_kems, "verifier, credentials: a KEM that the provider lacks")?;
        let are_suited = !uses_kems || self.groups_suit_kem_authentication();
        require(are_suited, "groups: one that KEM authentication must not use; name others")?;
        let has_suite = suites.iter().any(|suite| provider.suite(*suite).is_some());
        require(has_suite, "suites: name at least one that the provider has")?;
        let has_group = groups.iter().any(|group| provider.group(*group).is_some());
        require(has_group, "groups: name at least one that the provider has")?;
        require(are_few_and_different(suites), "suites: at most 64, each once")?;
        require(are_few_and_different(groups), "groups: at most 64, each once")?;
        let bytes: usize = protocols.iter().map(|protocol| 1 + protocol.len()).sum();
        let fit = protocols.iter().all(|protocol| (1..=255).contains(&protocol.len()));
        require(fit && bytes <= 4096, "protocols: 1 to 255 bytes each, 4,096 in all")?;
        // RFC 8449 §4.
        let fits = record_size_limit.is_none_or(|it| (64..=MAX_RECORD_SIZE_LIMIT).contains(&it));
        require(fits, "record_size_limit: 64 to 16,385 bytes")?;
        require(!self.handshake_timeout.is_zero(), "handshake_timeout: must be above zero")
    }

    /// Returns whether all groups suit KEM authentication.
    pub(super) fn groups_suit_kem_authentication(&self) -> bool {
        let mut groups = self.groups.iter().filter_map(|group| self.provider.group(*group));
        groups.all(|group| group.suits_kem_authentication())
    }
}

fn are_few_and_different<T: PartialEq>(listed: &[T]) -> bool {
    let is_new = |(at, one): (usize, &T)| !listed[..at].contains(one);
    listed.len() <= MAX_LISTED && listed.iter().enumerate().all(is_new)
}

/// How many suites or groups a configuration may list: more than exist.
const MAX_LISTED: usize = 64;
