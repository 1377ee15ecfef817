//! Associations without a network.

mod asked;
mod interleavings;
mod machine;
pub(crate) mod network;
mod running;

use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;
use http::{HeaderMap, StatusCode};

use super::machine::{Machine, Order, Outcome};
use super::*;
use crate::n32c::initiator::{Reply, TransportError};
use crate::n32c::messages::{SecNegotiateReqData, SecNegotiateRspData, SecurityCapability};

const SECOND: Duration = Duration::from_secs(1);

/// A SEPP of a test: its name and its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    pub name: &'static str,
    pub plmn: &'static str,
}

pub(crate) const HOME: Site =
    Site { name: "sepp1.5gc.mnc070.mcc999.3gppnetwork.org", plmn: "999-70" };
pub(crate) const VISITED: Site =
    Site { name: "sepp2.5gc.mnc001.mcc001.3gppnetwork.org", plmn: "001-01" };
pub(crate) const THIRD: Site =
    Site { name: "sepp3.5gc.mnc410.mcc310.3gppnetwork.org", plmn: "310-410" };

impl Site {
    pub fn fqdn(self) -> Fqdn {
        self.name.parse().unwrap()
    }

    pub fn plmns(self) -> PlmnSet {
        [self.plmn.parse().unwrap()].into_iter().collect()
    }

    pub fn local(self) -> LocalSettings {
        LocalSettings {
            fqdn: self.fqdn(),
            plmns: self.plmns(),
            n32f_port: Some(7444),
            features: Features::default(),
        }
    }

    /// Returns its settings as its peers have them.
    pub fn peer(self) -> PeerSettings {
        PeerSettings {
            fqdn: self.fqdn(),
            plmns: self.plmns(),
            anchor: self.plmn.into(),
            purposes: vec![N32Purpose::Roaming],
            initiate: true,
            keep_alive: Duration::from_secs(60),
        }
    }

    pub fn identity(self) -> CertificateIdentity {
        CertificateIdentity {
            fqdns: vec![self.fqdn()],
            plmns: self.plmns(),
            anchor: self.plmn.into(),
            fingerprint: [self.plmn.as_bytes()[0]; 32],
            expires_at: 4_000_000_000,
        }
    }

    /// Returns this SEPP's machine for `peer`.
    fn machine(self, peer: PeerSettings, now: Instant) -> Machine {
        let seed = self.plmn.bytes().map(u64::from).sum();
        Machine::new(self.local().into(), peer.into(), Rng::with_seed(seed), now)
    }

    /// Returns an answer of this SEPP.
    fn reply(self, status: StatusCode, body: Vec<u8>) -> Reply {
        Reply { identity: self.identity(), status, headers: HeaderMap::new(), body: body.into() }
    }

    fn answer(self, request: &SecNegotiateReqData) -> SecNegotiateRspData {
        offer::own_answer(&self.local(), &HOME.peer(), request, SecurityCapability::Tls)
    }

    fn ok(self, answer: &SecNegotiateRspData) -> Result<Reply, TransportError> {
        Ok(self.reply(StatusCode::OK, serde_json::to_vec(answer).unwrap()))
    }
}

/// Returns HOME's machine for VISITED, and an exchange that it began.
fn begun() -> (Machine, Order, Instant) {
    let now = Instant::now();
    let mut machine = HOME.machine(VISITED.peer(), now);
    let order = machine.begin(now).unwrap();
    (machine, order, now)
}

/// The same with an established association.
fn established() -> (Machine, Arc<Association>, Instant) {
    let (mut machine, order, now) = begun();
    let answer = VISITED.ok(&VISITED.answer(&order.request));
    assert_eq!(machine.answered(now, order.number, answer), Outcome::Established);
    let association = machine.established().unwrap().clone();
    (machine, association, now)
}
