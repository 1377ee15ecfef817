//! Forward-secret 0-RTT: the take, and what follows from it.

use super::negotiation::Negotiation;
use super::psk_candidate::PskInUse;
use super::stop::{Stop, answer};
use crate::crypto::{AgreementError, Digest};
use crate::error::Error;
use crate::handshake::context::Context;
use crate::question::Reply;
use crate::resume::{
    Companion, FsIdentity, KnownPsk, LoneIdentity, OneTimeSecret, PskKind, TakeAnswer, TakePurpose,
    TakeSecret, one_time_keys, psk_for_flight,
};
use crate::schedule::EarlySecret;
use crate::wire::{NamedGroup, Rejection};

/// The fate of the one-time key that a client's forward-secret ticket names.
pub(super) enum OneTimeKey {
    /// No ticket, or none that is vouched for.
    None,
    /// It was taken, and opened the flight.
    Opened(OpenedKey),
    /// The flight is not accepted.
    Rejected(Rejection),
}

impl OneTimeKey {
    pub(super) fn is_opened(&self) -> bool {
        matches!(self, Self::Opened(_))
    }
}

/// A one-time key that opened its flight.
pub(super) struct OpenedKey {
    pub(super) kind: NamedGroup,
    pub(super) companion: Companion,
    /// Of the PSK that includes the key's agreement.
    pub(super) early: EarlySecret,
}

impl Negotiation<'_> {
    /// Takes the one-time key of a forward-secret ticket if the sealed ticket, whose binder or proof was
    /// right, names it: no client can burn another's key. Burns a key whose flight can't be accepted,
    /// so that the client may resend.
    pub(super) fn take_one_time_key(
        &self,
        in_use: PskInUse<'_>,
        covered: &Digest,
        known: &mut Option<TakeAnswer>,
        ctx: &Context<'_>,
    ) -> Result<OneTimeKey, Stop<TakeSecret>> {
        let vouched = in_use.psk.and_then(|found| self.vouched(&found.psk));
        let Some(companion) = vouched else { return Ok(OneTimeKey::None) };
        let acceptable =
            in_use.early_data && self.fits_early_data(in_use) && self.can_continue_after_take();
        let purpose = if acceptable { TakePurpose::Accept } else { TakePurpose::Burn };
        let ask = || {
            let Companion { handle, incarnation, .. } = companion;
            let question = TakeSecret { handle, purpose, incarnation, unix: self.now.unix };
            let reply = match &self.config.policy.early_data.forward_secret {
                Some(guard) => guard.vault.take(&question),
                None => Reply::Now(TakeAnswer::Unavailable),
            };
            (question, reply)
        };
        let taken = answer(known, ask)?;
        let rejection = Rejection::after(taken, purpose);
        let key = match taken {
            TakeAnswer::Taken(secret) if acceptable => {
                match self.open_flight(secret, companion, in_use, covered, ctx)? {
                    Some(opened) => OneTimeKey::Opened(opened),
                    // The only copy is gone, so the flight can't be accepted any more.
                    None => OneTimeKey::Rejected(Rejection::Burned),
                }
            }
            _ => OneTimeKey::Rejected(rejection),
        };
        // Wipes the secret in place.
        *taken = TakeAnswer::Unavailable;
        Ok(key)
    }

    /// Returns the one-time key that the sealed ticket vouches for.
    pub(super) fn vouched(&self, found: &KnownPsk) -> Option<Companion> {
        let companion = found.session()?.companion?;
        if matches!(found, KnownPsk::Vouching(_)) {
            return Some(companion);
        }
        let first = self.hello.parsed.psks?.identities().next()?.identity;
        let identity = FsIdentity::read(first).filter(|_| self.is_forward_secret(first))?;
        (companion.id == *identity.id).then_some(companion)
    }

    /// Returns whether a forward-secret PSK can continue at all: alone, or with a share in a mode that the
    /// client offers.
    fn can_continue_after_take(&self) -> bool {
        let offered = self.hello.parsed.psk_modes.unwrap_or_default();
        (offered.psk_dhe_ke && self.has_share()) || self.goes_without_share(PskKind::ForwardSecret)
    }

    /// Opens a flight with its taken key: any fault in the flight is now forged, and fatal. Returns `None` for a key
    /// that this server's provider can't read: another version or configuration put it into the vault.
    fn open_flight(
        &self,
        secret: &OneTimeSecret,
        companion: Companion,
        in_use: PskInUse<'_>,
        covered: &Digest,
        ctx: &Context<'_>,
    ) -> Result<Option<OpenedKey>, Error> {
        let first = self.hello.parsed.psks.and_then(|psks| psks.identities().next());
        let bytes = first.map(|first| first.identity).unwrap_or_default();
        let identity =
            FsIdentity::read(bytes).or_else(|| LoneIdentity::read(bytes).map(|lone| lone.key));
        let identity = identity.ok_or(Error::Internal("a key was taken without an identity"))?;
        let keys = one_time_keys(&self.config.provider, secret.kind);
        let key = keys.and_then(|keys| keys.from_kept(secret.form, &secret.key).ok());
        let agreed = match key.map(|key| key.open(identity.encapsulated)) {
            None | Some(Err(AgreementError::Provider)) => return Ok(None),
            Some(agreed) => agreed?,
        };

        let kdf = ctx.kdf(in_use.suite);
        let psk = psk_for_flight(kdf, &secret.fs_secret, &agreed, bytes)?;
        let early = EarlySecret::new(kdf, psk.expose());
        self.check_binder(0, PskKind::ForwardSecret, &early, covered)?;
        Ok(Some(OpenedKey { kind: secret.kind, companion, early }))
    }
}
