//! Sends HelloRetryRequest (RFC 8446 §4.1.4).

use alloc::vec::Vec;

use super::config::ServerConfig;
use super::hello::Hello;
use super::negotiation::{Negotiation, choose_group, common_suites};
use super::psk_candidate::PskCandidate;
use super::retry_state::RetryState;
use crate::crypto::Suite;
use crate::error::{Error, handshake_failure, illegal_parameter};
use crate::handshake::below::{Epoch, Limit, RefusedEarlyData};
use crate::handshake::config::Checked;
use crate::handshake::context::Context;
use crate::limits::MAX_COOKIE;
use crate::schedule::Profile;
use crate::wire::HandshakeMessage;

impl RetryState {
    /// Answers a first ClientHello with a HelloRetryRequest, without keeping state: everything to remember is in the
    /// cookie that `seal` makes. The client returns it ([`of_cookie`](Self::of_cookie)), and thereby shows
    /// that it receives what is sent to its address. Opens no ticket and generates no key.
    ///
    /// The cookie has 1 to 4,096 bytes. It must be authentic, fresh and bound to the client's address: an attacker
    /// who can change its contents changes the handshake.
    ///
    /// # Errors
    /// The ClientHello can't be answered: send an alert, or stay silent. [`Error::Misuse`] for a cookie of another
    /// length.
    pub fn request(
        config: &Checked<ServerConfig>,
        profile: &'static Profile,
        hello: HandshakeMessage<'_>,
        seal: impl FnOnce(&[u8]) -> Vec<u8>,
    ) -> Result<Vec<u8>, Error> {
        let hello = Hello::read(hello, profile)?;
        let suite = common_suites(config, &hello.parsed).next();
        let suite = suite.ok_or(handshake_failure("no suite in common"))?;
        // Don't ask for a group whose share the client has sent (RFC 8446 §4.1.4).
        let group = choose_group(config, None, &hello.parsed)?.filter(|group| !group.has_share);
        let group = group.map(|group| group.agreement.group());
        let mut state = Self::new(suite, group, &hello, None);
        let cookie = seal(&state.encode());
        if !(1..=MAX_COOKIE).contains(&cookie.len()) {
            return Err(Error::Misuse("a cookie that is empty, or too long for a ClientHello"));
        }
        state.cookie = Some(cookie);
        let mut request = Vec::new();
        state.write_request(hello.parsed.session_id, profile, &mut request);
        Ok(request)
    }
}

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
        let state = RetryState::new(suite, Some(group), self.hello, identity);
        ctx.scratch.clear();
        state.write_request(self.hello.parsed.session_id, self.profile, ctx.scratch);
        ctx.below.send(Epoch::Initial, ctx.scratch);
        ctx.facts.hello_retry = true;
        if hello.early_data {
            let refused = RefusedEarlyData::BeforeSecondHello;
            ctx.below.limit(Limit::RefusedEarlyData(refused, self.refused_early_data_limit(psk)));
        }
        Ok(state)
    }
}
