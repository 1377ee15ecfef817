//! HelloRetryRequest out (RFC 8446 §4.1.4).

use super::negotiation::Negotiation;
use super::psk_candidate::PskCandidate;
use super::retry_state::RetryState;
use crate::crypto::Suite;
use crate::error::{Error, handshake_failure, illegal_parameter};
use crate::handshake::below::{Epoch, Limit, RefusedEarlyData};
use crate::handshake::context::Context;

impl Negotiation<'_> {
    /// Sends a HelloRetryRequest.
    pub(super) fn retry(
        &self,
        suite: &'static Suite,
        psk: Option<&PskCandidate>,
        ctx: &mut Context<'_>,
    ) -> Result<RetryState, Error> {
        let group = self.group.ok_or(handshake_failure("no group in common"))?.agreement.group();
        if self.retry.is_some() {
            return Err(illegal_parameter("the second ClientHello has no share for the group"));
        }
        let hello = &self.hello.parsed;
        let identity = psk.and_then(|found| hello.psks?.identities().nth(found.index));
        let identity = identity.map(|psk| psk.identity);
        let state = RetryState::new(suite, group, self.hello, identity);
        ctx.scratch.clear();
        state.write_request(self.session_id_to_echo(), &ctx.profile.versions, ctx.scratch);
        ctx.below.send(Epoch::Initial, ctx.scratch);
        ctx.facts.hello_retry = true;
        if hello.early_data {
            let refused = RefusedEarlyData::BeforeSecondHello;
            ctx.below.limit(Limit::RefusedEarlyData(refused, self.refused_early_data_limit(psk)));
        }
        Ok(state)
    }
}
