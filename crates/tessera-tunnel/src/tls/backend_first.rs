//! Defers a resumption with early data: the key is not taken before the backend is connected.

use tessera::handshake::Reply;
use tessera::resume::{AcceptResumption, ResumptionJudge, ResumptionVerdict};

/// Defers to the connection's driver, which dials the backend and answers.
pub(super) struct BackendFirstJudge;

impl ResumptionJudge for BackendFirstJudge {
    fn judge(&self, question: &AcceptResumption) -> Reply<ResumptionVerdict> {
        if question.early_data { Reply::Later } else { Reply::Now(ResumptionVerdict::Accept) }
    }
}
