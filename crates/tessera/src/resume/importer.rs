//! Importing external PSKs into TLS 1.3 (RFC 9258): one key yields one PSK per protocol and hash,
//! and none of them can be mistaken for another.

use alloc::vec::Vec;

use zeroize::Zeroizing;

use super::psk::ExternalPsk;
use crate::carrier::Carrier;
use crate::crypto::{Hash, Provider, Suite};
use crate::error::{Error, require};
use crate::schedule::{KeyDerivation, Label, Profile};
use crate::wire::{CipherSuite, Writer};

/// An external PSK for several protocols and hashes.
///
/// Bind the roles: put which party is client and which is server into the context, or use another key for each
/// direction. Otherwise an attacker can make a peer talk to itself (RFC 9257 §4.1).
#[derive(Clone)]
pub struct ImportablePsk {
    /// The key's name, shared by both ends: 1 to 4,096 bytes.
    pub external_identity: Vec<u8>,
    /// The key.
    pub secret: Zeroizing<Vec<u8>>,
    /// What else both ends agree on, such as their roles: 0 to 4,096 bytes.
    pub context: Vec<u8>,
    /// A suite with the key's hash; SHA-256 if the key specifies none.
    pub suite: CipherSuite,
}

impl ImportablePsk {
    /// Returns the PSKs for connections over `carrier`: one for each hash of the provider's suites (RFC
    /// 9258 §5.1). They are bound to its protocol, and valid for no other.
    pub fn import(&self, provider: &Provider, carrier: Carrier) -> Result<Vec<ExternalPsk>, Error> {
        let profile = Profile::over(carrier).ok_or(Error::Configuration(
            "an importable PSK: name a carrier that Tessera has, such as Carrier::STREAM",
        ))?;
        let sizes = 1..=4096;
        let sane = sizes.contains(&self.external_identity.len()) && self.context.len() <= 4096;
        require(
            sane && !self.secret.is_empty(),
            "an importable PSK: an identity of 1 to 4,096 bytes, a context of up to 4,096, and \
             a secret",
        )?;
        let own = provider.suite(self.suite).ok_or(Error::Configuration(
            "an importable PSK: its suite is not among the provider's",
        ))?;
        let targets = [HKDF_SHA256, HKDF_SHA384].into_iter().filter_map(|target| {
            let suite = provider.suites.iter().find(|suite| target_kdf(suite) == Some(target))?;
            Some((target, *suite))
        });
        Ok(targets
            .map(|(target, suite)| self.import_for(profile, target, suite, own.hash))
            .collect())
    }

    fn import_for(
        &self,
        profile: &'static Profile,
        target: u16,
        suite: &Suite,
        own: &'static dyn Hash,
    ) -> ExternalPsk {
        let mut identity = Vec::new();
        identity.vec16(|out| out.bytes(&self.external_identity));
        identity.vec16(|out| out.bytes(&self.context));
        identity.u16(profile.versions.selected.0);
        identity.u16(target);

        // §4.1: the key's own hash extracts and expands; the target's determines the PSK's length.
        let kdf = KeyDerivation { hash: own, profile };
        let mut secret = Zeroizing::new(alloc::vec![0; suite.hash.len()]);
        let hash = own.hash(&identity);
        kdf.with_extracted(&[], &self.secret, |extracted| {
            kdf.expand_label(extracted, Label::DERIVED_PSK, hash.as_ref(), &mut secret);
        });
        ExternalPsk::imported(identity, secret, suite.id)
    }
}

impl core::fmt::Debug for ImportablePsk {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ImportablePsk").field("suite", &self.suite).finish_non_exhaustive()
    }
}

/// The registry of RFC 9258 §10.
const HKDF_SHA256: u16 = 1;
const HKDF_SHA384: u16 = 2;

fn target_kdf(suite: &Suite) -> Option<u16> {
    match suite.id {
        CipherSuite::TLS_AES_128_GCM_SHA256 | CipherSuite::TLS_CHACHA20_POLY1305_SHA256 => {
            Some(HKDF_SHA256)
        }
        CipherSuite::TLS_AES_256_GCM_SHA384 => Some(HKDF_SHA384),
        _ => None,
    }
}
