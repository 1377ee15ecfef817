//! A handshake whose suite is decided: is the PSK that was found used, and how?

use alloc::string::String;
use alloc::vec::Vec;

use super::ServerState;
use super::hello::{Paused, Received};
use super::negotiation::Negotiation;
use super::server_hello::{EarlyDataAnswer, Selected, SelectedPsk};
use crate::auth::equal;
use crate::crypto::{Digest, Suite};
use crate::error::{Error, decrypt_error};
use crate::handshake::context::Context;
use crate::handshake::question::{Reply, Waiting};
use crate::resume::{AcceptResumption, PskKind, Receipt, ResumptionVerdict};
use crate::schedule::{EarlySecret, KeyDerivation, STREAM, Transcript};

/// Suite and transcript are settled, and no HelloRetryRequest is needed.
pub(crate) struct Decided {
    pub(super) negotiation: Negotiation,
    pub(super) suite: &'static Suite,
    /// Up to the ClientHello.
    pub(super) transcript: Transcript,
    /// The hash that binders cover.
    binder_hash: Digest,
    /// Of the PSK that was found, where it is known before anything is taken.
    early: Option<EarlySecret>,
    /// What became of the flights that the client asks about, as far as that is settled.
    pub(super) receipts: Vec<Receipt>,
}

impl Decided {
    /// Hashes the hello, and checks the binder of the PSK that was found.
    pub(super) fn new(
        mut negotiation: Negotiation,
        suite: &'static Suite,
        received: &Received<'_>,
    ) -> Result<Self, Error> {
        let binders_len = received.hello.psks.map_or(0, |psks| psks.binders_len());
        let (covered, binders) = received.bytes.split_at(received.bytes.len() - binders_len);
        let mut transcript = match negotiation.retried.as_mut() {
            Some(retried) => {
                let empty = Transcript::start(suite.hash, &[]);
                let mut transcript = core::mem::replace(&mut retried.transcript, empty);
                transcript.add(covered);
                transcript
            }
            None => Transcript::start(suite.hash, covered),
        };
        let binder_hash = transcript.hash();
        transcript.add(binders);
        let mut decided =
            Self { negotiation, suite, transcript, binder_hash, early: None, receipts: Vec::new() };
        if let Some(found) = &decided.negotiation.found
            && let Some(secret) = found.psk.secret()
        {
            let kdf = KeyDerivation { hash: suite.hash, profile: &STREAM };
            let early = EarlySecret::new(kdf, secret);
            decided.check_binder(received, found.index, found.psk.kind(), &early)?;
            decided.early = Some(early);
        }
        Ok(decided)
    }

    /// The binder of the found PSK. A wrong one is forged: fatal (RFC 8446 §4.2.11).
    pub(super) fn check_binder(
        &self,
        received: &Received<'_>,
        index: usize,
        kind: PskKind,
        early: &EarlySecret,
    ) -> Result<(), Error> {
        let binder = received.hello.psks.and_then(|psks| psks.binder(index)).unwrap_or_default();
        if !equal(early.binder(kind, &self.binder_hash).as_ref(), binder) {
            return Err(decrypt_error("a PSK binder is wrong"));
        }
        Ok(())
    }

    /// Asks the owner whether the PSK that was found, and proved, may be used.
    pub(super) fn judge(
        self,
        received: &Received<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        let (Some(judge), Some(found)) =
            (self.negotiation.config.judge.clone(), &self.negotiation.found)
        else {
            return self.judged(ResumptionVerdict::Accept, received, ctx);
        };
        let identity = received.hello.psks.and_then(|psks| psks.identities().nth(found.index));
        let binder = received.hello.psks.and_then(|psks| psks.binder(found.index));
        let session = found.psk.session();
        let question = AcceptResumption {
            kind: found.psk.kind(),
            identity: identity.map(|psk| psk.identity.to_vec()).unwrap_or_default(),
            binder: binder.unwrap_or_default().to_vec(),
            peer: session.and_then(|session| session.peer.clone()),
            authenticated_at: session.map(|session| session.authenticated_at),
            server_name: received.hello.server_name.map(String::from),
            early_data: received.hello.early_data,
        };
        match judge.judge(&question) {
            Reply::Now(answer) => self.judged(answer, received, ctx),
            Reply::Later => {
                let paused = Paused::new(self, received);
                Ok(ServerState::AcceptingResumption(Waiting::new(question, paused)))
            }
        }
    }

    /// The owner has spoken on the PSK.
    pub(super) fn judged(
        mut self,
        verdict: ResumptionVerdict,
        received: &Received<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        if verdict == ResumptionVerdict::Refuse {
            self.negotiation.found = None;
            self.early = None;
            if !self.can_go_on() {
                return self.negotiation.retry(self.suite, received, ctx);
            }
        }
        let early_data_allowed = verdict == ResumptionVerdict::Accept;
        self.settle_receipts(early_data_allowed, received, ctx)
    }

    /// Answers under the found PSK, or with certificates.
    pub(super) fn answer_found(
        mut self,
        early_data: EarlyDataAnswer,
        received: &Received<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        let early = self.early.take();
        let with_share = early.is_none() || self.negotiation.needs_share(&received.hello);
        let psk = match (&self.negotiation.found, early) {
            (Some(found), Some(early)) => {
                Some(SelectedPsk { index: found.index, kind: found.psk.kind(), early })
            }
            _ => None,
        };
        self.answer(Selected { psk, with_share, early_data, one_time_key: None }, received, ctx)
    }

    /// Whether the handshake can go on: under the PSK that was found, or else with the client's share.
    pub(super) fn can_go_on(&self) -> bool {
        self.early.is_some() || self.negotiation.group.is_some_and(|group| group.has_share)
    }

    /// Whether early data could be accepted with this session (RFC 8446 §4.2.10).
    pub(super) fn fits_early_data(&self) -> bool {
        let session = self.negotiation.found.as_ref().and_then(|found| found.psk.session());
        self.negotiation.retried.is_none()
            && session.is_some_and(|session| {
                session.suite == self.suite.id && session.protocol == self.negotiation.protocol
            })
    }
}

impl Paused<Decided> {
    /// Someone judged the resumption.
    pub(super) fn judged(
        self,
        answer: ResumptionVerdict,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        self.then.judged(answer, &Received::again(&self.hello)?, ctx)
    }
}
