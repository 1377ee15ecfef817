//! The binder of a PSK, and the transcript that it covers (RFC 8446 §4.2.11.2).

use super::negotiation::Negotiation;
use super::psk_candidate::PskCandidate;
use crate::crypto::{Digest, Suite, equal};
use crate::error::{Error, decrypt_error};
use crate::handshake::context::Context;
use crate::resume::PskKind;
use crate::schedule::{EarlySecret, Transcript};

/// A ClientHello whose binder was right, and the secret of its PSK.
pub(super) struct ProvedHello {
    /// The transcript up to the ClientHello.
    pub(super) transcript: Transcript,
    /// The hash that binders cover.
    pub(super) covered: Digest,
    /// Of the chosen PSK, if known before anything is taken.
    pub(super) early: Option<EarlySecret>,
}

impl Negotiation<'_> {
    /// Hashes the hello, and checks the binder of the chosen PSK, once.
    pub(super) fn prove<'p>(
        &self,
        suite: &'static Suite,
        psk: Option<&PskCandidate>,
        known: &'p mut Option<ProvedHello>,
        ctx: &Context<'_>,
    ) -> Result<&'p mut ProvedHello, Error> {
        match known {
            Some(proved) => Ok(proved),
            None => Ok(known.insert(self.hash_and_check(suite, psk, ctx)?)),
        }
    }

    fn hash_and_check(
        &self,
        suite: &'static Suite,
        psk: Option<&PskCandidate>,
        ctx: &Context<'_>,
    ) -> Result<ProvedHello, Error> {
        let bytes = self.hello.bytes;
        let binders_len = self.hello.parsed.psks.map_or(0, |psks| psks.binders_len());
        let (before, binders) = bytes.split_at(bytes.len() - binders_len);
        let mut transcript = match self.retry {
            Some(retry) => retry.transcript(self.hello.parsed.session_id, before, self.profile),
            None => Transcript::start(suite.hash, before),
        };
        let covered = transcript.hash();
        transcript.add(binders);
        let mut early = None;
        if let Some(found) = psk
            && let Some(secret) = found.psk.secret()
        {
            let secret = EarlySecret::new(ctx.kdf(suite), secret);
            self.check_binder(found.index, found.psk.kind(), &secret, &covered)?;
            early = Some(secret);
        }
        Ok(ProvedHello { transcript, covered, early })
    }

    /// Checks a binder. A wrong one is forged: fatal (RFC 8446 §4.2.11).
    pub(super) fn check_binder(
        &self,
        index: usize,
        kind: PskKind,
        early: &EarlySecret,
        covered: &Digest,
    ) -> Result<(), Error> {
        let binder = self.hello.parsed.psks.and_then(|psks| psks.binder(index));
        let expected = early.binder(kind.binder_label(), covered);
        if !equal(expected.as_ref(), binder.unwrap_or_default()) {
            return Err(decrypt_error("a PSK binder is wrong"));
        }
        Ok(())
    }
}
