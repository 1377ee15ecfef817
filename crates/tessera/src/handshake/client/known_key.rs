//! The client knows the server's static key (docs/kem-auth.md §9).

use super::config::ClientConfig;
use super::offer::{Offer, OfferedPsk};
use crate::auth::KeyId;
use crate::crypto::AgreementError;
use crate::error::Error;
use crate::handshake::config::{Checked, Config};
use crate::linked::KnownKeys;
use crate::resume::{KnownKeyIdentity, KnownServerKey, PskKind, SessionState, psk_of_known_key};
use crate::schedule::KeyDerivation;

impl Checked<ClientConfig> {
    /// Returns whether a session began with this known key, in the same epoch.
    pub(in crate::handshake) fn knows_key_behind(
        &self,
        session: &SessionState,
        known: Option<&KnownServerKey>,
    ) -> bool {
        let known = known.filter(|_| KnownKeys::linked().is_some());
        let began =
            |known: &KnownServerKey| session.accepted_by == Some(known.digest(&self.provider));
        session.policy_epoch == self.policy_epoch && known.is_some_and(began)
    }
}

impl Offer {
    /// Encapsulates to the key, and offers the PSK that follows.
    pub(super) fn add_known_key(&mut self, known: KnownServerKey) -> Result<(), Error> {
        let linked = KnownKeys::linked();
        let linked = linked
            .ok_or(Error::Configuration("known_server_key: this build leaves known keys out"))?;
        let config = &self.config;
        let (scheme, public_key) = (known.public_key.scheme(), known.public_key.as_bytes());
        let kem = config
            .provider
            .kem(scheme)
            .ok_or(Error::Configuration("known_server_key: the provider doesn't have its KEM"))?;
        let suite = config.suite_with_sha256().ok_or(Error::Configuration(
            "known_server_key: add a suite with SHA-256 to the configuration's suites",
        ))?;
        if !config.common().groups_suit_kem_authentication() {
            return Err(Error::Configuration(
                "known_server_key: a group of the configuration must not be used with KEM authentication; name others",
            ));
        }
        let (encapsulation, shared) = kem.encapsulate(public_key).map_err(|error| match error {
            AgreementError::InvalidShare => {
                Error::Configuration("known_server_key: the key is not one of its KEM")
            }
            AgreementError::Provider => Error::Provider("encapsulation"),
        })?;
        let id = KeyId::of(suite.hash, scheme, public_key);
        let identity = KnownKeyIdentity { id, encapsulation: &encapsulation }.encode();
        let kdf = KeyDerivation { hash: suite.hash, profile: self.profile };
        let psk = psk_of_known_key(kdf, &shared, &identity);
        let digest = Some(known.digest(&config.provider));
        let psk = OfferedPsk::new(PskKind::KnownKey, suite, kdf, psk.expose(), identity);
        self.psks.push(OfferedPsk { digest, ..psk });
        self.known_server = Some(linked.with(known.identity));
        Ok(())
    }
}
