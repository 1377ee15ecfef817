//! State shared by all connections.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderValue, Request, Response};
use tessera_proxy::http::body::{Body, BodyLimits};
use tessera_proxy::http::server::{Early, Refusal, ServerOptions};
use tokio::sync::watch;

use crate::config::Configuration;
use crate::events::Events;
use crate::guard::{self, InFlightRequest, LoadShed};
use crate::metrics::Metrics;
use crate::n32f::early;
use crate::names::Fqdn;
use crate::sbi::errors::Problem;
use crate::sepp::{Sepp, Share, Shares};

/// State shared by all connections.
pub(super) struct SharedState {
    pub(super) sepp: Arc<Sepp>,
    pub(super) metrics: Metrics,
    pub(super) events: Events,
    /// Whether the process is shutting down.
    pub(super) ending: watch::Sender<bool>,
    /// How many times the connections of each peer were asked to end.
    pub(super) drained: watch::Sender<HashMap<Fqdn, u64>>,
    pub(super) load: LoadShed,
    /// Shares of a listener's connections, counted over both N32 listeners together.
    pub(super) connections: Shares,
    pub(super) options: Arc<ServerOptions>,
    pub(super) server: HeaderValue,
}

impl SharedState {
    pub(super) fn options(&self) -> Arc<ServerOptions> {
        self.options.clone()
    }

    /// Admits a request unless the SEPP is overloaded, or its peer has its full share: the peer itself chooses the
    /// priority, so priorities alone don't suffice.
    #[expect(clippy::result_large_err, reason = "it is the answer")]
    pub(super) fn admit(
        &self,
        peer: Option<&Fqdn>,
        request: &Request<Body>,
    ) -> Result<(InFlightRequest, Option<Share>), Response<Body>> {
        let admit = || {
            let share = peer.map(|peer| {
                self.sepp.requests().take(peer).ok_or_else(|| guard::Refusal::share(RELIEF))
            });
            Ok((self.load.admit(request.headers(), RELIEF)?, share.transpose()?))
        };
        admit().map_err(|refusal: guard::Refusal| {
            if let Some(peer) = peer {
                self.metrics.peer(peer).refused(refusal.rule.name());
            }
            let problem = Problem::new(refusal.status, refusal.cause, refusal.rule.detail());
            let mut response = match peer {
                Some(_) => problem.to_peer(&self.server),
                None => problem.to_own(&self.server),
            };
            if let Some(seconds) = refusal.retry_after_seconds() {
                response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
            }
            response
        })
    }
}

/// The delay that refused clients are asked for under overload.
const RELIEF: Duration = Duration::from_secs(2);

/// Returns how connections are served.
pub(super) fn options(configuration: &Configuration, server: HeaderValue) -> ServerOptions {
    let limits = &configuration.limits;
    ServerOptions {
        head_bytes: u32::try_from(limits.header_bytes).unwrap_or(u32::MAX),
        head_fields: limits.headers,
        body: BodyLimits { max_len: limits.body, idle: limits.body_idle },
        streams: limits.streams,
        head_time: limits.head,
        // At its own deadline the SEPP has a more precise answer.
        request_time: limits.response + Duration::from_secs(5),
        stall_time: limits.write,
        idle_time: limits.idle,
        drain_time: configuration.process.requests_end(),
        early: Arc::new(|request| match early::can_be_early(request.method()) {
            true => Early::Process,
            false => Early::Refuse,
        }),
        refusal: Arc::new(move |refusal| problem(refusal).to_peer(&server)),
        ..ServerOptions::default()
    }
}

/// Returns a server's own refusal in the form of TS 29.500 §5.2.7.2.
fn problem(refusal: Refusal) -> Problem {
    let cause = match refusal {
        Refusal::TooEarly => "TOO_EARLY",
        Refusal::Slow | Refusal::Unanswered => "TIMED_OUT_REQUEST",
        _ => "INVALID_MSG_FORMAT",
    };
    Problem::new(refusal.status(), cause, "")
}
