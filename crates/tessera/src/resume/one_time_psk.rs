//! The symmetric kind of one-time key: a PSK that both ends delete.
//!
//! There is no public key and no public-key work: the FS secret itself is what exists once on either
//! side. So the flight is forward-secret only as far as *both* ends really delete it, the client
//! included, where with the other kinds the server's deletion is enough. Both ends have to opt in by
//! a name that says so.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::crypto::{AgreementError, OneTimeKey, OneTimeKeys, Provider, SharedSecret};
use crate::wire::NamedGroup;

/// The one-time keys of a kind: the provider's, or the engine's own symmetric ones.
pub(crate) fn one_time_keys(
    provider: &Provider,
    kind: NamedGroup,
) -> Option<&'static dyn OneTimeKeys> {
    match kind {
        NamedGroup::ONE_TIME_PSK_FORWARD_SECRET_ONLY_IF_DELETED => Some(&OneTimePsks),
        _ => provider.one_time(kind),
    }
}

/// Agrees a secret with a ticket's one-time key; `None` if the key can't be answered. Gives what
/// travels in the identity, and the secret.
pub(crate) fn answer_one_time_key(
    provider: &Provider,
    kind: NamedGroup,
    public: &[u8],
) -> Option<(Vec<u8>, SharedSecret)> {
    match kind {
        NamedGroup::ONE_TIME_PSK_FORWARD_SECRET_ONLY_IF_DELETED => {
            public.is_empty().then(|| (Vec::new(), nothing()))
        }
        _ => provider.group(kind)?.encapsulate(public).ok(),
    }
}

struct OneTimePsks;

impl OneTimeKeys for OneTimePsks {
    fn kind(&self) -> NamedGroup {
        NamedGroup::ONE_TIME_PSK_FORWARD_SECRET_ONLY_IF_DELETED
    }

    fn seed_len(&self) -> usize {
        0
    }

    fn public_len(&self) -> usize {
        0
    }

    fn from_seed(&self, seed: &[u8]) -> Result<Box<dyn OneTimeKey>, AgreementError> {
        match seed {
            [] => Ok(Box::new(OneTimePsk)),
            _ => Err(AgreementError::Provider),
        }
    }
}

struct OneTimePsk;

impl OneTimeKey for OneTimePsk {
    fn public(&self) -> Result<Vec<u8>, AgreementError> {
        Ok(Vec::new())
    }

    fn open(self: Box<Self>, encapsulated: &[u8]) -> Result<SharedSecret, AgreementError> {
        match encapsulated {
            [] => Ok(nothing()),
            _ => Err(AgreementError::InvalidShare),
        }
    }
}

/// What is agreed beside the FS secret.
fn nothing() -> SharedSecret {
    SharedSecret::new(Vec::new())
}
