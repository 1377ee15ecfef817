//! Leaves a resumption with early data for later: nothing is taken before the backend is there.

use tessera::handshake::Reply;
use tessera::resume::{AcceptResumption, ResumptionJudge, ResumptionVerdict};

/// Whoever drives the connection dials the backend, and answers.
pub(super) struct BackendFirstJudge;

impl ResumptionJudge for BackendFirstJudge {
    fn judge(&self, question: &AcceptResumption) -> Reply<ResumptionVerdict> {
        if question.early_data { Reply::Later } else { Reply::Now(ResumptionVerdict::Accept) }
    }
}
