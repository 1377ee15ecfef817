//! Bodies that must be inspected, and those that stream through.

use bytes::Bytes;
use http::header::CONTENT_ENCODING;
use http::{HeaderMap, StatusCode};
use http_body::Body as _;
use tessera_proxy::http::body::{Body, BodyError, CompleteBody};
use tessera_proxy::http::deadline::Deadline;

use crate::guard::{Guard, Passage, Refusal, set_length};
use crate::sbi::errors::{Problem, problems};
use crate::sbi::telescopic::{self, Rewriter, is_json};

/// A body, as far as it was received.
pub(crate) enum InspectedBody {
    /// The whole body.
    Whole(CompleteBody),
    /// A body that isn't inspected.
    Passing(Body),
}

/// Why a message isn't forwarded.
#[derive(Debug)]
pub(crate) enum ForwardRefusal {
    /// A rule of the guard.
    Rule(Box<Refusal>),
    /// Anything else.
    Other(Problem),
}

impl InspectedBody {
    /// Collects the body if a rule inspects it, or names in it are translated. Drops its trailers in either case: no
    /// API has any (TS 29.500), and they would not be judged. `logged`: what a log-only rule would have refused.
    pub(crate) async fn at(
        guard: &Guard,
        headers: &HeaderMap,
        body: Body,
        rewrites: bool,
        deadline: Deadline,
        logged: &mut Vec<Refusal>,
    ) -> Result<Self, ForwardRefusal> {
        let body = body.without_trailers();
        let rewrites = rewrites && is_json(headers) && !headers.contains_key(CONTENT_ENCODING);
        if body.is_end() || !(rewrites || guard.inspects(headers)) {
            return Ok(Self::Passing(body));
        }
        let limit = guard.inspected_body();
        let too_long = || guard.body_is_too_long().map_err(ForwardRefusal::from);
        if body.size_hint().lower() > limit as u64 {
            let Passage { logged: passed } = too_long()?;
            logged.extend(passed);
            return Ok(Self::Passing(body));
        }
        match deadline.limit(body.collect_up_to(limit)).await {
            Ok(Ok(whole)) => Ok(Self::Whole(whole)),
            // The bytes read so far are lost, so it can't pass any more. A log-only rule lets bodies with an announced
            // length pass.
            Ok(Err(BodyError::TooLong)) => Err(match too_long() {
                Err(refusal) => refusal,
                Ok(_) => problems::TOO_LONG.into(),
            }),
            Ok(Err(error)) => Err(of_body(&error).into()),
            Err(_) => Err(problems::SLOW_BODY.into()),
        }
    }

    /// Translates the names in it, if its headers declare a suitable type.
    pub(crate) fn rewrite(&mut self, rewriting: &Rewriter<'_>, headers: &HeaderMap) {
        if let Some(data) = self.data()
            && let Some(new) = telescopic::rewrite(rewriting, headers, data)
        {
            *data = new;
        }
    }

    /// Returns the bytes of an inspected body.
    pub(crate) fn data(&mut self) -> Option<&mut Bytes> {
        match self {
            Self::Whole(whole) => Some(&mut whole.data),
            Self::Passing(_) => None,
        }
    }

    /// Returns the body to forward, and corrects an announced length if the body has changed.
    pub(crate) fn into_body(self, headers: &mut HeaderMap) -> Body {
        match self {
            Self::Passing(body) => body,
            Self::Whole(whole) => {
                set_length(headers, whole.data.len());
                Body::from(whole)
            }
        }
    }
}

/// Returns why the body of a request didn't arrive.
pub(crate) fn of_body(error: &BodyError) -> Problem {
    match error {
        BodyError::TooLong => problems::TOO_LONG,
        BodyError::Idle => problems::SLOW_BODY,
        _ => problems::CUT_BODY,
    }
}

impl From<Problem> for ForwardRefusal {
    fn from(problem: Problem) -> Self {
        Self::Other(problem)
    }
}

impl From<Refusal> for ForwardRefusal {
    fn from(refusal: Refusal) -> Self {
        Self::Rule(Box::new(refusal))
    }
}

impl ForwardRefusal {
    /// Returns the answer to a refused request.
    pub(crate) fn to_request(&self) -> Problem {
        match self {
            Self::Other(problem) => problem.clone(),
            Self::Rule(refusal) => Problem {
                retry_after: refusal
                    .retry_after_seconds()
                    .map(|seconds| u32::try_from(seconds).unwrap_or(u32::MAX)),
                ..Problem::new(refusal.status, refusal.cause, refusal.rule.detail())
            },
        }
    }

    /// Returns the answer to a request whose answer was refused: the client isn't at fault.
    pub(crate) fn to_response(&self) -> Problem {
        match self {
            Self::Other(problem) if *problem == problems::SLOW_BODY => problems::TIMED_OUT,
            _ => Problem::new(
                StatusCode::BAD_GATEWAY,
                "INBOUND_SERVER_ERROR",
                "the answer may not pass between these networks",
            ),
        }
    }
}
