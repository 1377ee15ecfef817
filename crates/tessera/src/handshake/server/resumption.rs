//! Whether the PSK that was found, and proved, may be used: the owner decides.

use alloc::string::String;

use super::negotiation::Negotiation;
use super::pause::{Pause, answer};
use super::psk_candidate::PskCandidate;
use crate::resume::{AcceptResumption, ResumptionVerdict};

impl Negotiation<'_> {
    /// Asks the owner, where there is a PSK to ask about.
    pub(super) fn accept_resumption(
        &self,
        psk: Option<&PskCandidate>,
        known: &mut Option<ResumptionVerdict>,
    ) -> Result<ResumptionVerdict, Pause<AcceptResumption>> {
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
        AcceptResumption {
            kind: found.psk.kind(),
            identity: identity.map(|psk| psk.identity.to_vec()).unwrap_or_default(),
            binder: binder.unwrap_or_default().to_vec(),
            peer: session.and_then(|session| session.peer.clone()),
            authenticated_at: session.map(|session| session.authenticated_at),
            server_name: hello.server_name.map(String::from),
            early_data: hello.early_data,
        }
    }
}
