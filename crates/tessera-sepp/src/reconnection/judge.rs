//! The server's judge: everything in a ticket is judged again before it opens a connection.

use std::sync::Arc;

use tessera::handshake::Reply;
use tessera::resume::{AcceptResumption, ResumptionJudge, ResumptionVerdict};
use tessera_kit::clock::unix;

use super::identity_refusal::IdentityRefusal;
use super::modes::Ticket;
use super::standing::{Purpose, Standing};
use crate::identity::{Direction, Identity, Listener};

/// Judges the tickets presented to a listener, by what is valid under its configuration.
pub struct PeerJudge {
    standing: Arc<Standing>,
    listener: Listener,
}

impl PeerJudge {
    /// Creates a judge for a listener.
    pub fn new(standing: Arc<Standing>, listener: Listener) -> Self {
        Self { standing, listener }
    }

    /// Judges the ticket of this peer. Returns whether its early data may be accepted too.
    fn decide(
        &self,
        peer: &Identity,
        question: &AcceptResumption,
    ) -> Result<bool, IdentityRefusal> {
        let purpose = Purpose { direction: Direction::Incoming, listener: self.listener };
        let now = unix();
        self.standing.resumes(peer, purpose, now)?;
        let ticket = Ticket {
            age: question.issued_at.map(|issued_at| now.saturating_sub(issued_at)),
            without_key_exchange: question.without_key_exchange,
            replayable_early_data: question.replayable_early_data,
        };
        let known = self.standing.known().get(&peer.peer);
        known.ok_or(IdentityRefusal::UnknownPeer)?.modes.allow(&ticket)
    }
}

impl ResumptionJudge for PeerJudge {
    fn judge(&self, question: &AcceptResumption) -> Reply<ResumptionVerdict> {
        let identity = question.peer.as_ref().and_then(Identity::decode);
        let decided = match &identity {
            Some(identity) => self.decide(identity, question),
            None => Err(IdentityRefusal::Unreadable),
        };
        Reply::Now(match decided {
            Ok(true) => ResumptionVerdict::Accept,
            Ok(false) => ResumptionVerdict::AcceptWithoutEarlyData,
            Err(why) => {
                let peer = identity.as_ref().map(|identity| identity.peer.as_str());
                let listener = self.listener.as_str();
                tracing::info!(peer, listener, why = why.as_str(), "a ticket is not resumed");
                ResumptionVerdict::Refuse
            }
        })
    }
}
