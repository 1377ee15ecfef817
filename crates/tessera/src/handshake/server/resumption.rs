//! Whether the proved PSK may be used: the owner decides.

use alloc::string::String;
use core::time::Duration;

use super::negotiation::Negotiation;
use super::psk_candidate::PskCandidate;
use super::stop::{Stop, answer};
use crate::resume::{AcceptResumption, KnownPsk, ResumptionVerdict};

impl Negotiation<'_> {
    /// Asks the owner about the PSK, if any. An unusable one is refused without a question.
    pub(super) fn accept_resumption(
        &self,
        psk: Option<&PskCandidate>,
        known: &mut Option<ResumptionVerdict>,
    ) -> Result<ResumptionVerdict, Stop<AcceptResumption>> {
        if psk.is_some_and(|found| !found.is_usable) {
            return Ok(ResumptionVerdict::Refuse);
        }
        let (Some(judge), Some(found)) = (&self.config.judge, psk) else {
            return Ok(ResumptionVerdict::Accept);
        };
        let ask = || {
            let question = self.about(found);
            let reply = judge.judge(&question);
            (question, reply)
        };
        answer(known, ask).copied()
    }

    fn about(&self, found: &PskCandidate) -> AcceptResumption {
        let hello = &self.hello.parsed;
        let identity = hello.psks.and_then(|psks| psks.identities().nth(found.index));
        let binder = hello.psks.and_then(|psks| psks.binder(found.index));
        let session = found.psk.session();
        // Early data belongs to the first identity (RFC 8446 §4.2.10), which is not this one if it is
        // forward-secret or vouches for itself.
        let is_first = found.index == 0 && !matches!(found.psk, KnownPsk::Vouching(_));
        AcceptResumption {
            kind: found.psk.kind(),
            identity: identity.map(|psk| psk.identity.to_vec()).unwrap_or_default(),
            binder: binder.unwrap_or_default().to_vec(),
            peer: session.and_then(|session| session.peer.clone()),
            authenticated_at: session.map(|session| session.authenticated_at),
            server_name: hello.server_name.map(String::from),
            issued_at: session.map(|session| Duration::from_millis(session.issued_at)),
            without_key_exchange: !self.needs_share(Some(found)),
            early_data: hello.early_data,
            replayable_early_data: hello.early_data && is_first,
        }
    }
}
