//! The symmetric kind of one-time key: a PSK that both ends delete.
//!
//! It needs no public key: the FS secret itself exists once on either side. So the flight is
//! forward-secret only if *both* ends really delete it, the client included; with the other kinds
//! the server's deletion suffices. Both ends must opt in by a name that states this.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::crypto::{AgreementError, OneTimeKey, OneTimeKeys, Provider, SharedSecret};
use crate::wire::NamedGroup;

/// Returns the one-time keys of a kind: the provider's, or the engine's own symmetric ones.
pub(crate) fn one_time_keys(
    provider: &Provider,
    kind: NamedGroup,
) -> Option<&'static dyn OneTimeKeys> {
    match kind {
        NamedGroup::ONE_TIME_PSK_FORWARD_SECRET_ONLY_IF_DELETED => Some(&OneTimePsks),
        _ => provider.one_time(kind),
    }
}

/// Agrees on a secret with a ticket's one-time key: returns the identity's encapsulation, and the secret. `None` if
/// the key can't be answered.
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

/// Returns the secret agreed on in addition to the FS secret: none.
fn nothing() -> SharedSecret {
    SharedSecret::new(Vec::new())
}
