//! Whether to resend a failed call. A mistake here executes something twice.

use http::{Request, StatusCode};

use super::call::{Call, Early};
use super::error::{CallError, CallErrorKind, Delivery};
use crate::http::body::Body;

/// The attempts at a call.
pub(super) struct Attempts {
    early: Early,
    repeatable: bool,
    /// Attempts that were surely not executed.
    refused: u32,
    /// It was resent although it may have been executed.
    pub(super) resent: bool,
}

impl Attempts {
    pub(super) fn new(call: &Call) -> Self {
        Self { early: call.early, repeatable: call.repeatable, refused: 0, resent: false }
    }

    /// Whether the next attempt may travel as early data.
    pub(super) fn early(&self) -> Early {
        self.early
    }

    /// Whether to try again after this error.
    pub(super) fn again_after(&mut self, error: &CallError) -> bool {
        // The next attempt goes the safe way: another first flight may meet the same fate.
        self.early = Early::Never;
        let is_final = matches!(
            error.kind,
            CallErrorKind::InvalidRequest
                | CallErrorKind::RequestBody
                | CallErrorKind::DeadlineExceeded
                | CallErrorKind::Withdrawn
                | CallErrorKind::Busy
                | CallErrorKind::Closed
                | CallErrorKind::Unreachable
                | CallErrorKind::NoUpgrade
                | CallErrorKind::InvalidSwitch
        );
        if is_final {
            return false;
        }
        match error.sent {
            Delivery::Nothing => {
                self.refused += 1;
                self.refused <= MOST_REFUSALS
            }
            // The server would reset an unwanted call again.
            Delivery::Maybe if matches!(error.kind, CallErrorKind::Reset(_)) => false,
            Delivery::Maybe => self.repeatable && !std::mem::replace(&mut self.resent, true),
        }
    }

    /// Whether this response reports that the call came too early and was not executed (RFC 8470 §5.2).
    pub(super) fn again_later(&mut self, status: StatusCode, was_early: bool) -> bool {
        let again = was_early && status == StatusCode::TOO_EARLY && self.early == Early::Allowed;
        self.early = Early::Never;
        again
    }
}

/// Give up on a server that refuses every stream.
const MOST_REFUSALS: u32 = 3;

/// Clones the request, if its body is in memory.
pub(super) fn spare(request: &Request<Body>) -> Option<Request<Body>> {
    let body = request.body().try_clone()?;
    let mut spare = Request::new(body);
    *spare.method_mut() = request.method().clone();
    *spare.uri_mut() = request.uri().clone();
    *spare.version_mut() = request.version();
    *spare.headers_mut() = request.headers().clone();
    Some(spare)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::deadline::Deadline;

    fn tries(repeatable: bool) -> Attempts {
        let call = Call { repeatable, ..Call::until(Deadline::after(Default::default())).early() };
        Attempts::new(&call)
    }

    const ALL: [CallErrorKind; 12] = [
        CallErrorKind::InvalidRequest,
        CallErrorKind::RequestBody,
        CallErrorKind::Unreachable,
        CallErrorKind::Busy,
        CallErrorKind::Closed,
        CallErrorKind::DeadlineExceeded,
        CallErrorKind::Withdrawn,
        CallErrorKind::EarlyDataRefused,
        CallErrorKind::NoUpgrade,
        CallErrorKind::InvalidSwitch,
        CallErrorKind::Reset(7),
        CallErrorKind::ConnectionLost,
    ];

    #[test]
    fn a_possibly_executed_request_is_resent_at_most_once_and_only_if_repeatable() {
        for kind in ALL {
            let error = CallError::new(kind, Delivery::Maybe);
            assert!(!tries(false).again_after(&error), "{error}");
            let mut tries = tries(true);
            let once =
                matches!(kind, CallErrorKind::EarlyDataRefused | CallErrorKind::ConnectionLost);
            assert_eq!(tries.again_after(&error), once, "{error}");
            assert!(!tries.again_after(&error), "{error}");
        }
    }

    #[test]
    fn an_unexecuted_request_is_sent_again_whatever_its_method_but_not_forever() {
        for repeatable in [false, true] {
            let mut tries = tries(repeatable);
            let error = CallError::unsent(CallErrorKind::ConnectionLost);
            let again = (0..100).take_while(|_| tries.again_after(&error)).count();
            assert_eq!(again, 3);
            assert!(!tries.resent);
        }
    }

    #[test]
    fn no_second_try_is_early() {
        let mut tries = tries(true);
        assert_eq!(tries.early(), Early::Allowed);
        tries.again_after(&CallError::unsent(CallErrorKind::ConnectionLost));
        assert_eq!(tries.early(), Early::Never);
    }

    #[test]
    fn a_call_that_came_too_early_is_sent_again_once_and_only_if_it_was_early() {
        assert!(!tries(false).again_later(StatusCode::TOO_EARLY, false));
        assert!(!tries(false).again_later(StatusCode::OK, true));
        let mut tries = tries(false);
        assert!(tries.again_later(StatusCode::TOO_EARLY, true));
        assert!(!tries.again_later(StatusCode::TOO_EARLY, true));
    }
}
