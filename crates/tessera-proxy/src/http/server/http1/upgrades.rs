//! Which stream follows an HTTP/1.1 connection.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use http::header::{CONNECTION, HeaderValue};
use http::{Response, StatusCode};

use crate::http::body::Body;
use crate::http::server::held_value::HeldValue;
use crate::http::server::upgrade::{Asked, OtherSide, other_side};
use crate::http::server::{Refusal, ServerOptions};

/// What follows the connection: the other side of its upgrade, and what the answer holds.
#[derive(Default)]
pub(super) struct Upgrades {
    accepted: Mutex<Option<(OtherSide, Option<HeldValue>)>>,
    are_refused: AtomicBool,
}

impl Upgrades {
    /// Refuses later ones, since the server shuts down.
    pub(super) fn refuse(&self) {
        self.are_refused.store(true, Ordering::Relaxed);
    }

    pub(super) fn take(&self) -> Option<(OtherSide, Option<HeldValue>)> {
        self.accepted.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Notes the other side of an accepting answer. Another answer to an upgrade ends the connection.
    pub(super) fn settle(
        &self,
        asked: &Asked,
        mut answer: Response<Body>,
        options: &ServerOptions,
    ) -> Response<Body> {
        let is_switch = answer.status() == StatusCode::SWITCHING_PROTOCOLS;
        match asked {
            Asked::Protocol(_) => {
                let other = other_side(&mut answer);
                match other.filter(|_| is_switch) {
                    Some(other) if !self.are_refused.load(Ordering::Relaxed) => {
                        let held = answer.extensions_mut().remove();
                        *self.accepted.lock().unwrap_or_else(PoisonError::into_inner) =
                            Some((other, held));
                        return answer;
                    }
                    Some(_) => answer = (options.refusal)(Refusal::Draining),
                    None if is_switch => answer = unexpected_switch(),
                    None => {}
                }
                answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            // The client goes on with HTTP.
            _ if is_switch => answer = unexpected_switch(),
            _ => {}
        }
        answer
    }
}

fn unexpected_switch() -> Response<Body> {
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    answer
}
