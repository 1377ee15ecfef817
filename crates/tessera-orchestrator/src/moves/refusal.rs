//! Why a client isn't moved.

use std::fmt;
use std::time::Duration;

use tessera_bindings::{Binding, BindingError, BindingState, MoveFailure, ProxyName, StepRefused};

/// Why a request was refused, and what is known of the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MoveRefusal {
    pub(crate) why: Why,
    /// The client's binding, as the table has it.
    pub(crate) binding: Option<Box<Binding>>,
}

/// Why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Why {
    /// The step was refused.
    Step(BindingError),
    /// The proxy that was named is drained.
    Drained(ProxyName),
    /// No live proxy is fit.
    NoTarget,
    /// The move was given up, for this reason; none: it isn't known, since the client has moved on.
    GivenUp(Option<MoveFailure>),
    /// A later request took this one's place.
    Superseded,
    /// Too many requests wait.
    QueueFull,
    /// This process doesn't follow the store at the moment.
    NotCurrent,
}

impl MoveRefusal {
    /// Returns how long the refusal holds, if that is known: for a move in progress, at most this long.
    pub(crate) fn retry_after(&self, dwell: Duration, now: Duration) -> Option<Duration> {
        match &self.why {
            Why::Step(BindingError::Refused(StepRefused::TooSoon(wait))) => Some(*wait),
            Why::Step(BindingError::Refused(
                StepRefused::Moving(_) | StepRefused::NotSettled(_),
            )) => {
                let binding = self.binding.as_ref()?;
                let due = binding.due()?;
                let until = match binding.state {
                    BindingState::Switched { .. } => {
                        due.max(binding.owned_since.saturating_add(dwell))
                    }
                    _ => due,
                };
                Some(until.saturating_sub(now))
            }
            Why::QueueFull | Why::NotCurrent => Some(SOON),
            Why::Step(BindingError::Store(_) | BindingError::Contended) => Some(SOON),
            _ => None,
        }
    }

    /// Whether waiting may help: another move of the client ends, or it has been where it is for long enough.
    pub(crate) fn passes(&self) -> bool {
        matches!(
            &self.why,
            Why::Step(BindingError::Refused(
                StepRefused::TooSoon(_) | StepRefused::Moving(_) | StepRefused::NotSettled(_)
            ))
        )
    }
}

/// When to try again after a failure that comes from the load or the store.
const SOON: Duration = Duration::from_secs(1);

impl fmt::Display for MoveRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            Why::Step(error) => error.fmt(f),
            Why::Drained(proxy) => {
                write!(f, "{proxy} is drained: choose another proxy, or end the drain first")
            }
            Why::NoTarget => f.write_str(
                "no live proxy that resumes the owner's sessions takes clients: start one, or end a drain",
            ),
            Why::GivenUp(Some(failure)) => write!(f, "the move was given up: {failure}"),
            Why::GivenUp(None) => f.write_str(
                "the move was given up, and another step has followed: read the client's binding",
            ),
            Why::Superseded => f.write_str("a later request for this client took this one's place"),
            Why::QueueFull => f.write_str("too many requests wait for their clients; try again"),
            Why::NotCurrent => f.write_str("the store can't be reached; try again"),
        }
    }
}
