//! One peer's association as a state machine, without I/O or a clock.

use std::sync::Arc;
use std::time::Instant;

use fastrand::Rng;

use super::Association;
use super::backoff::Backoff;
use super::negotiation::{Bounds, Claims, is_name_of, judge, judge_sender};
use super::offer::{own_answer, own_request};
use super::settings::{LocalSettings, PeerSettings};
use crate::identity::CertificateIdentity;
use crate::n32c::failure::Failure;
use crate::n32c::initiator::{
    AcceptedReply, Redirection, Reply, Target, TransportError, read_reply,
};
use crate::n32c::messages::{
    HandshakeId, SecNegotiateReqData, SecNegotiateRspData, SecurityCapability,
};
use crate::n32c::refusal::{Refusal, Rule};
use crate::names::Fqdn;

/// The state of a peer's association.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Nothing is agreed, and nothing has failed.
    WillEstablish,
    /// N32-f is allowed.
    Established(Arc<Association>),
    /// One side ended it.
    Terminated(Terminator),
    /// The last attempt failed.
    Exception(Arc<Failure>),
}

/// Which side ended an association.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terminator {
    /// This SEPP: nothing begins until it is requested.
    Us,
    /// The peer. This SEPP retries after a while, and the peer may begin at any time.
    Peer,
}

impl State {
    /// Returns its name in logs, metrics and the admin interface.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::WillEstablish => "will_establish",
            Self::Established(_) => "established",
            Self::Terminated(_) => "terminated",
            Self::Exception(_) => "exception",
        }
    }
}

/// An exchange of capabilities to be carried out now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Order {
    pub number: u64,
    pub to: Target,
    pub request: SecNegotiateReqData,
}

/// An exchange in progress.
#[derive(Debug, Clone)]
struct Exchange {
    number: u64,
    handshake_id: HandshakeId,
    /// The targets so far; several after redirections.
    targets: Vec<Target>,
}

/// The result of a completed exchange.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// To be repeated at another target.
    Redirected(Box<Order>),
    Established,
    Failed(Arc<Failure>),
    /// The exchange was superseded.
    Stale,
}

#[derive(Debug, Clone)]
pub(super) struct Machine {
    local: Arc<LocalSettings>,
    settings: Arc<PeerSettings>,
    state: State,
    /// Whether the peer reported that it doesn't know the association.
    is_doubted: bool,
    /// The number of associations ended by either side.
    terminations: u64,
    exchange: Option<Exchange>,
    exchanges: u64,
    /// When to begin the next exchange.
    next: Option<Instant>,
    backoff: Backoff,
    rng: Rng,
}

impl Machine {
    /// The maximum number of consecutive redirections.
    const MAX_REDIRECTIONS: usize = 3;

    pub fn new(
        local: Arc<LocalSettings>,
        settings: Arc<PeerSettings>,
        mut rng: Rng,
        now: Instant,
    ) -> Self {
        Self {
            next: settings.initiate.then_some(now),
            local,
            settings,
            state: State::WillEstablish,
            is_doubted: false,
            terminations: 0,
            exchange: None,
            exchanges: 0,
            backoff: Backoff::new(rng.fork()),
            rng,
        }
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    pub fn settings(&self) -> &Arc<PeerSettings> {
        &self.settings
    }

    pub fn established(&self) -> Option<&Arc<Association>> {
        match &self.state {
            State::Established(association) => Some(association),
            _ => None,
        }
    }

    /// Returns when [`begin`](Self::begin) has something to do; `None` while nothing is planned.
    pub fn next(&self) -> Option<Instant> {
        self.next.filter(|_| self.exchange.is_none())
    }

    /// Returns whether this SEPP was just started: its first exchange with the peer is still to come, or in progress.
    pub fn is_beginning(&self) -> bool {
        self.state == State::WillEstablish && (self.exchange.is_some() || self.next.is_some())
    }

    /// Returns whether an exchange is in progress.
    pub fn is_under_way(&self) -> bool {
        self.exchange.is_some()
    }

    /// Begins an exchange if it is due.
    pub fn begin(&mut self, now: Instant) -> Option<Order> {
        if self.next().is_none_or(|next| next > now) {
            return None;
        }
        self.next = None;
        self.exchanges += 1;
        let handshake_id = HandshakeId::from_octets(self.rng.u64(..).to_be_bytes());
        let to = Target { fqdn: self.settings.fqdn.clone(), port: None };
        let number = self.exchanges;
        self.exchange = Some(Exchange { number, handshake_id, targets: vec![to.clone()] });
        Some(self.order(number, handshake_id, to))
    }

    fn order(&self, number: u64, handshake_id: HandshakeId, to: Target) -> Order {
        let request =
            own_request(&self.local, &self.settings, SecurityCapability::Tls, handshake_id);
        Order { number, to, request }
    }

    /// Handles the end of an exchange, successful or not.
    pub fn answered(
        &mut self,
        now: Instant,
        number: u64,
        reply: Result<Reply, TransportError>,
    ) -> Outcome {
        let Some(exchange) = self.exchange.take_if(|exchange| exchange.number == number) else {
            return Outcome::Stale;
        };
        match self.judge_reply(now, &exchange, reply) {
            Ok(Judgement::Agreed(agreed)) => {
                self.establish(*agreed);
                Outcome::Established
            }
            Ok(Judgement::Elsewhere(to)) => {
                let order = self.order(number, exchange.handshake_id, to.clone());
                let mut targets = exchange.targets;
                targets.push(to);
                self.exchange = Some(Exchange { targets, ..exchange });
                Outcome::Redirected(Box::new(order))
            }
            Err(failure) => Outcome::Failed(self.failed(now, failure)),
        }
    }

    fn judge_reply(
        &self,
        now: Instant,
        exchange: &Exchange,
        reply: Result<Reply, TransportError>,
    ) -> Result<Judgement, Failure> {
        let reply = reply.map_err(Failure::Transport)?;
        let target = exchange.targets.last().unwrap_or(&Target::of(&self.settings.fqdn)).clone();
        // Checked before anything else in the answer counts, including a redirection or a refusal.
        judge_sender(&self.settings, &target.fqdn, &reply.identity, &target.fqdn)
            .map_err(Failure::Claims)?;
        let answer = match read_reply(&reply)? {
            AcceptedReply::Answer(answer) => answer,
            AcceptedReply::Elsewhere(redirection) => {
                return self.follow(exchange, redirection).map(Judgement::Elsewhere);
            }
        };
        if answer.n32_handshake_id.is_some_and(|id| id != exchange.handshake_id) {
            let detail = "the answer belongs to another exchange";
            return Err(Failure::Claims(Refusal::new(Rule::HandshakeId, detail)));
        }
        if answer.selected_sec_capability != SecurityCapability::Tls {
            return Err(Failure::Capability(answer.selected_sec_capability));
        }
        let claims = Claims::from(&*answer);
        self.judge(now, &target.fqdn, &reply.identity, &claims)
            .map(|agreed| Judgement::Agreed(Box::new(agreed)))
            .map_err(Failure::Claims)
    }

    /// Returns the target of a redirection, if this SEPP follows it: only to names of the same peer, a limited number
    /// of times, never in circles.
    fn follow(&self, exchange: &Exchange, redirection: Redirection) -> Result<Target, Failure> {
        let Redirection { target } = redirection;
        let refuse = |why: &str| Err(Failure::Redirection(format!("to {target}, {why}")));
        if !is_name_of(&self.settings, &target.fqdn) {
            return refuse("which is not a name of this peer");
        }
        if exchange.targets.contains(&target) {
            return refuse("which was tried before");
        }
        if exchange.targets.len() > Self::MAX_REDIRECTIONS {
            return refuse("after too many redirections");
        }
        Ok(target)
    }

    fn failed(&mut self, now: Instant, failure: Failure) -> Arc<Failure> {
        let asked = match &failure {
            Failure::Refused { retry_after, .. } => *retry_after,
            _ => None,
        };
        let failure = Arc::new(failure);
        // If the peer's own exchange succeeded meanwhile, the association remains valid.
        if self.established().is_none() || self.is_doubted {
            self.is_doubted = false;
            self.state = State::Exception(Arc::clone(&failure));
            let wait = self.backoff.after_failure(asked);
            self.next = self.settings.initiate.then(|| now + wait);
        }
        failure
    }

    fn establish(&mut self, mut agreed: Association) {
        self.backoff.succeeded();
        self.next = None;
        self.is_doubted = false;
        // The same agreement is the same association, though the peer's certificate may be newer.
        if let Some(before) = self.established().filter(|before| before.id == agreed.id) {
            agreed.since = before.since;
        }
        self.state = State::Established(Arc::new(agreed));
    }

    fn judge(
        &self,
        now: Instant,
        name: &Fqdn,
        identity: &CertificateIdentity,
        claims: &Claims<'_>,
    ) -> Result<Association, Refusal> {
        let (local, peer, terminations) = (&*self.local, &*self.settings, self.terminations);
        judge(Bounds { local, peer, name, terminations, now }, identity, claims)
    }

    /// Handles a peer's request to establish or end the association.
    pub fn asked(
        &mut self,
        now: Instant,
        identity: &CertificateIdentity,
        request: &SecNegotiateReqData,
    ) -> Result<SecNegotiateRspData, Refusal> {
        let peer = Arc::clone(&self.settings);
        judge_sender(&peer, &peer.fqdn, identity, &request.sender)?;
        let offered = &request.supported_sec_capability_list;
        if offered.contains(&SecurityCapability::Tls) {
            let agreed = self.judge(now, &peer.fqdn, identity, &Claims::from(request))?;
            if self.state == State::Terminated(Terminator::Us) {
                return Err(Refusal::new(Rule::Ended, "this SEPP ended the association"));
            }
            self.establish(agreed);
            return Ok(own_answer(&self.local, &peer, request, SecurityCapability::Tls));
        }
        if offered.contains(&SecurityCapability::None) {
            self.ended_by_peer(now);
            return Ok(own_answer(&self.local, &peer, request, SecurityCapability::None));
        }
        let offered: Vec<_> = offered.iter().map(SecurityCapability::as_str).take(20).collect();
        Err(Refusal::new(Rule::Capability, "this SEPP supports TLS alone")
            .claiming(offered.join(", ")))
    }

    /// Handles the peer ending the association. An exchange in progress no longer counts: its answer may be older.
    pub fn ended_by_peer(&mut self, now: Instant) {
        self.forget();
        if self.state == State::Terminated(Terminator::Us) {
            return;
        }
        self.state = State::Terminated(Terminator::Peer);
        let wait = self.backoff.after_termination();
        self.next = self.settings.initiate.then(|| now + wait);
    }

    /// Ends the association. Returns the notification for the peer; `None` if the peer knows of none.
    pub fn end(&mut self) -> Option<SecNegotiateReqData> {
        let is_known = self.established().is_some() || self.exchange.is_some();
        self.forget();
        self.next = None;
        self.state = State::Terminated(Terminator::Us);
        is_known.then(|| {
            let handshake_id = HandshakeId::from_octets(self.rng.u64(..).to_be_bytes());
            own_request(&self.local, &self.settings, SecurityCapability::None, handshake_id)
        })
    }

    fn forget(&mut self) {
        self.exchange = None;
        if self.established().is_some() {
            self.terminations += 1;
        }
    }

    /// Handles a peer's N32-f answer that it doesn't know this association, since it was restarted. The association
    /// remains valid while it is renegotiated, and ends if that fails.
    pub fn lost(&mut self, now: Instant, lost: &Arc<Association>) {
        // Each exchange creates another object, even if it agreed on the same.
        if self.established().is_none_or(|association| !Arc::ptr_eq(association, lost)) {
            return;
        }
        self.is_doubted = true;
        if self.settings.initiate && self.next.is_none() && self.exchange.is_none() {
            // A pause, in case the peer forgets again immediately.
            self.next = Some(now + self.backoff.after_loss());
        }
    }

    /// Returns whether the peer ended it, and the next attempt is later than a request would want.
    pub fn is_put_off(&self, now: Instant) -> bool {
        let is_ended = self.state == State::Terminated(Terminator::Peer);
        is_ended
            && self.exchange.is_none()
            && self.next.is_some_and(|next| next > now + Backoff::FIRST)
    }

    /// Handles a request that waits for the association. If the peer ended it, the next attempt is brought forward: the
    /// peer may have several instances, of which only one ended.
    pub fn wanted(&mut self, now: Instant) {
        if self.is_put_off(now) {
            self.next = Some(now + self.backoff.after_loss());
        }
    }

    /// Begins a new exchange now, on request.
    pub fn renew(&mut self, now: Instant) {
        if let State::Terminated(_) | State::Exception(_) = self.state {
            self.state = State::WillEstablish;
        }
        self.backoff.succeeded();
        self.next = Some(now);
    }

    /// Applies other settings. What was agreed remains valid if they allow it, until it is renegotiated.
    pub fn set(&mut self, now: Instant, local: Arc<LocalSettings>, settings: Arc<PeerSettings>) {
        if *self.local == *local && *self.settings == *settings {
            return;
        }
        let is_allowed = |association: &Association| {
            let purposes = association.purposes.iter().flatten();
            local.fqdn == self.local.fqdn
                && local.plmns == self.local.plmns
                && *association.certificate.anchor == *settings.anchor
                && association.plmns.is_subset_of(&settings.plmns)
                && purposes.into_iter().all(|purpose| settings.purposes.contains(purpose))
        };
        let holds_on = self.established().is_some_and(|association| is_allowed(association));
        self.exchange = None;
        if self.state != State::Terminated(Terminator::Us) {
            if !holds_on {
                self.state = State::WillEstablish;
            }
            self.next = settings.initiate.then_some(now);
        }
        (self.local, self.settings) = (local, settings);
    }
}

enum Judgement {
    Agreed(Box<Association>),
    Elsewhere(Target),
}
