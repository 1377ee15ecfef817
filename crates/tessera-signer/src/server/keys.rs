//! The keys of a signer, and who may use them.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU32;
use std::sync::Arc;

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use tessera::crypto::Signer;
use tessera::wire::SignatureScheme;
use tessera_webpki::IdentityName;

use super::content::is_server_certificate_verify;
use crate::wire::Refusal;

/// How many signatures a client gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// A second, in the long run.
    pub per_second: NonZeroU32,
    /// At once.
    pub burst: NonZeroU32,
}

/// A private key, and who may use it.
pub struct HeldKey {
    signer: Arc<dyn Signer>,
    /// By the names of clients. A client with several of them has the rate of the first.
    allow: BTreeMap<String, Arc<DefaultDirectRateLimiter>>,
    rate: Rate,
    is_fast: bool,
}

/// The keys of a signer, by name.
#[derive(Default)]
pub struct Keys(HashMap<Vec<u8>, Arc<HeldKey>>);

/// Signatures that take no longer than handing them to another thread.
const FAST: [SignatureScheme; 2] =
    [SignatureScheme::ECDSA_SECP256R1_SHA256, SignatureScheme::ED25519];

impl HeldKey {
    /// Creates it for clients whose certificates have one of these DNS names or URIs.
    pub fn new(
        signer: Arc<dyn Signer>,
        allow: impl IntoIterator<Item = impl AsRef<str>>,
        rate: Rate,
    ) -> Self {
        let quota = Quota::per_second(rate.per_second).allow_burst(rate.burst);
        let allow = allow.into_iter().map(|name| {
            let name = name.as_ref();
            // DNS names have no colon, and are compared in lower case; URIs have one.
            let name = if name.contains(':') { name.to_owned() } else { name.to_ascii_lowercase() };
            (name, Arc::new(RateLimiter::direct(quota)))
        });
        let is_fast = signer.schemes().iter().all(|scheme| FAST.contains(scheme));
        Self { allow: allow.collect(), rate, is_fast, signer }
    }

    pub(super) fn signer(&self) -> &Arc<dyn Signer> {
        &self.signer
    }

    /// Whether it signs at once.
    pub(super) fn is_fast(&self) -> bool {
        self.is_fast
    }

    fn limiter(&self, identity: &[u8]) -> Option<&DefaultDirectRateLimiter> {
        IdentityName::all_in(identity).find_map(|name| match name {
            IdentityName::Dns(name) | IdentityName::Uri(name) => {
                self.allow.get(name).map(|limiter| &**limiter)
            }
        })
    }

    /// Uses up one signature of a client's rate.
    pub(super) fn take_one(&self, identity: &[u8]) -> Result<(), Refusal> {
        let limiter = self.limiter(identity).ok_or(Refusal::NotAllowed)?;
        limiter.check().map_err(|_| Refusal::Rate)
    }

    /// Keeps what clients have left of an unchanged rate.
    fn keep_rates_of(&mut self, earlier: &Self) {
        if self.rate != earlier.rate {
            return;
        }
        for (name, limiter) in &mut self.allow {
            if let Some(earlier) = earlier.allow.get(name) {
                *limiter = earlier.clone();
            }
        }
    }
}

impl Keys {
    /// Adds a key under a name; an earlier one of this name is dropped.
    pub fn add(&mut self, name: &str, key: HeldKey) {
        self.0.insert(name.as_bytes().to_vec(), Arc::new(key));
    }

    /// Keeps what clients have left of the rates of keys whose names and rates are unchanged.
    pub(super) fn keep_rates_of(&mut self, earlier: &Self) {
        for (name, key) in &mut self.0 {
            // No request has it yet.
            if let (Some(key), Some(earlier)) = (Arc::get_mut(key), earlier.0.get(name)) {
                key.keep_rates_of(earlier);
            }
        }
    }

    /// Returns the key to sign this message with for a client of this identity, whose rate is for the caller to check: only what
    /// would be signed uses it up.
    pub(super) fn find(
        &self,
        identity: &[u8],
        name: &[u8],
        scheme: SignatureScheme,
        message: &[u8],
    ) -> Result<Arc<HeldKey>, Refusal> {
        let key = self.0.get(name).ok_or(Refusal::UnknownKey)?;
        key.limiter(identity).ok_or(Refusal::NotAllowed)?;
        if !key.signer.schemes().contains(&scheme) {
            return Err(Refusal::Scheme);
        }
        if !is_server_certificate_verify(message) {
            return Err(Refusal::Content);
        }
        Ok(key.clone())
    }
}
