//! Forward-secret 0-RTT: the take, and what follows from it.

use super::ServerState;
use super::decision::Decided;
use super::hello::{Paused, Received};
use super::server_hello::{EarlyDataAnswer, Selected, SelectedPsk};
use crate::error::Error;
use crate::handshake::context::Context;
use crate::handshake::question::{Reply, Waiting};
use crate::resume::{
    Companion, FsIdentity, LoneIdentity, OneTimeSecret, PskKind, Rejection, TakePurpose,
    TakeSecret, Taken, one_time_keys, psk_for_flight,
};
use crate::schedule::{EarlySecret, KeyDerivation, STREAM};

impl Decided {
    /// Takes the one-time key. The sealed ticket names it, and its binder or proof was right. If its flight
    /// can't be accepted the key is burned, so that the client may resend.
    pub(super) fn take_secret(
        self,
        companion: Companion,
        allowed: bool,
        received: &Received<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        let offered = received.hello.psk_modes.unwrap_or_default();
        let acceptable =
            allowed && self.fits_early_data() && self.negotiation.can_continue(offered);
        let purpose = if acceptable { TakePurpose::Accept } else { TakePurpose::Burn };
        let Companion { handle, incarnation, .. } = companion;
        let question = TakeSecret { handle, purpose, incarnation, unix: ctx.now.unix };
        let reply = match &self.negotiation.config.policy.early_data.forward_secret {
            Some(guard) => guard.vault.take(&question),
            None => Reply::Now(Taken::Unavailable),
        };
        match reply {
            Reply::Now(answer) => self.taken(purpose, answer, received, ctx),
            Reply::Later => {
                let paused = (Paused::new(self, received), purpose);
                Ok(ServerState::TakingSecret(Waiting::new(question, paused)))
            }
        }
    }

    fn taken(
        self,
        purpose: TakePurpose,
        answer: Taken,
        received: &Received<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        let rejection = Rejection::after(&answer, purpose);
        if let (Taken::Taken(secret), TakePurpose::Accept) = (answer, purpose) {
            return self.accept(secret, received, ctx);
        }
        // A lone identity has no fallback but a full handshake.
        if !self.can_go_on() {
            return self.negotiation.retry(self.suite, received, ctx);
        }
        let answer = if self.negotiation.early_data_was_offered(&received.hello) {
            // RFC 8446 §4.2: no extension that the client didn't ask for.
            let asked = received.hello.one_time_kinds.is_some();
            EarlyDataAnswer::Rejected { rejection: Some(rejection).filter(|_| asked) }
        } else {
            EarlyDataAnswer::NotOffered
        };
        self.answer_found(answer, received, ctx)
    }

    /// The key was taken: from here on whatever is wrong is forged, and fatal.
    fn accept(
        self,
        secret: OneTimeSecret,
        received: &Received<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        let first = received.hello.psks.and_then(|psks| psks.identities().next());
        let bytes = first.map(|first| first.identity).unwrap_or_default();
        let identity =
            FsIdentity::read(bytes).or_else(|| LoneIdentity::read(bytes).map(|lone| lone.key));
        let identity = identity.ok_or(Error::Internal("a key was taken without an identity"))?;
        let keys = one_time_keys(&self.negotiation.config.provider, secret.kind);
        let key = keys
            .ok_or(Error::Provider("no one-time keys of the kind that the vault gave"))?
            .from_seed(&secret.seed)?;
        let agreed = key.open(identity.encapsulated)?;

        let kdf = KeyDerivation { hash: self.suite.hash, profile: &STREAM };
        let psk = psk_for_flight(kdf, &secret.fs_secret, &agreed, bytes)?;
        let early = EarlySecret::new(kdf, psk.expose());
        self.check_binder(received, 0, PskKind::ForwardSecret, &early)?;

        let session = self.negotiation.found.as_ref().and_then(|found| found.psk.session());
        let companion = session.and_then(|session| session.companion);
        let limit = companion.map(|companion| companion.max_early_data_size);
        let early_data = if received.hello.early_data {
            ctx.facts.flight = companion.map(|companion| companion.handle);
            EarlyDataAnswer::Accepted { limit: limit.unwrap_or(0) }
        } else {
            EarlyDataAnswer::NotOffered
        };
        let offered = received.hello.psk_modes.unwrap_or_default();
        let with_share = !self.negotiation.continues_without_share(offered);
        let selected = Selected {
            psk: Some(SelectedPsk { index: 0, kind: PskKind::ForwardSecret, early }),
            with_share,
            early_data,
            one_time_key: Some(secret.kind),
        };
        self.answer(selected, received, ctx)
    }
}

impl Paused<Decided> {
    /// The vault answered.
    pub(super) fn taken(
        self,
        purpose: TakePurpose,
        answer: Taken,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        self.then.taken(purpose, answer, &Received::again(&self.hello)?, ctx)
    }
}
