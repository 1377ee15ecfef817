//! The server's judge: everything that a ticket says is judged again before it opens a connection.

use std::sync::Arc;

use tessera::handshake::Reply;
use tessera::resume::{AcceptResumption, ResumptionJudge, ResumptionVerdict};
use tessera_kit::clock::unix;

use super::modes::Ticket;
use super::standing::{NoLonger, Purpose, Standing};
use crate::identity::{Direction, Identity, Listener};

/// Judges the tickets that come to a listener, by what counts now.
pub struct PeerJudge {
    standing: Arc<Standing>,
    listener: Listener,
}

impl PeerJudge {
    /// Judges for a listener.
    pub fn new(standing: Arc<Standing>, listener: Listener) -> Self {
        Self { standing, listener }
    }

    /// Whether the ticket is good, and its early data with it.
    fn decide(&self, question: &AcceptResumption) -> Result<bool, (Option<Identity>, NoLonger)> {
        let identity = question.peer.as_ref().and_then(Identity::decode);
        let Some(identity) = identity else { return Err((None, NoLonger::Unreadable)) };
        let purpose = Purpose { direction: Direction::Incoming, listener: self.listener };
        let now = unix();
        if let Err(why) = self.standing.resumes(&identity, purpose, now) {
            return Err((Some(identity), why));
        }
        let known = self.standing.known();
        let Some(peer) = known.get(&identity.peer) else {
            return Err((Some(identity), NoLonger::UnknownPeer));
        };
        let ticket = Ticket {
            age: question.issued_at.map(|issued_at| now.saturating_sub(issued_at)),
            without_key_exchange: question.without_key_exchange,
            replayable_early_data: question.replayable_early_data,
        };
        peer.modes.allow(&ticket).map_err(|why| (Some(identity), why))
    }
}

impl ResumptionJudge for PeerJudge {
    fn judge(&self, question: &AcceptResumption) -> Reply<ResumptionVerdict> {
        Reply::Now(match self.decide(question) {
            Ok(true) => ResumptionVerdict::Accept,
            Ok(false) => ResumptionVerdict::AcceptWithoutEarlyData,
            Err((identity, why)) => {
                let peer = identity.as_ref().map(|identity| identity.peer.as_str());
                let listener = self.listener.as_str();
                tracing::info!(peer, listener, why = why.as_str(), "a ticket is not resumed");
                ResumptionVerdict::Refuse
            }
        })
    }
}
