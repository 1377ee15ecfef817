//! `/peers`: what operators can see and do about peers.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tessera_kit::{clock, hex};
use tessera_proxy::admin::{Answer, Routes};
use tessera_proxy::certificates::days_left;
use tessera_proxy::http::deadline::Deadline;
use tessera_proxy::logging::tracing;
use tokio::runtime::Handle;

use super::shared::SharedState;
use crate::config::{EarlyData, Peer};
use crate::n32c::{Association, State};
use crate::n32f::reach::Reach;
use crate::names::Fqdn;

/// How long notifying a peer that it is drained may take.
const FAREWELL: Duration = Duration::from_secs(10);

/// Returns the routes: `GET /peers`, `GET /peers/{fqdn}`, `POST /peers/{fqdn}/reestablish`, `POST /peers/{fqdn}/drain`.
pub(super) fn routes(shared: &Arc<SharedState>, runtime: &Handle) -> Routes {
    let (all, one, again, end) = (shared.clone(), shared.clone(), shared.clone(), shared.clone());
    let (begins, ends) = (runtime.clone(), runtime.clone());
    Routes::new()
        .get("/peers", move |_| Answer::json(text(&Value::Array(all.peers(None)))))
        .get("/peers/{}", move |name| match one.peers(Some(name)).pop() {
            Some(peer) => Answer::json(text(&peer)),
            None => unknown(name),
        })
        .post("/peers/{}/reestablish", move |name| {
            let _runtime = begins.enter();
            match name.parse::<Fqdn>() {
                Ok(peer) if again.sepp.associations().reestablish(&peer) => {
                    Answer::accepted(format_args!("restarting N32-c with {peer}"))
                }
                _ => unknown(name),
            }
        })
        .post("/peers/{}/drain", move |name| match end.configured(name) {
            None => unknown(name),
            Some(peer) => {
                ends.spawn(drain(end.clone(), peer.fqdn.clone()));
                Answer::accepted(format_args!("ending N32 with {}", peer.fqdn))
            }
        })
}

async fn drain(shared: Arc<SharedState>, peer: Fqdn) {
    tracing::info!(peer = peer.as_str(), "draining: N32-f ends, and the peer is notified");
    shared.drained.send_modify(|times| *times.entry(peer.clone()).or_default() += 1);
    shared.sepp.close(&peer);
    shared.sepp.associations().terminate(&peer, Deadline::after(FAREWELL)).await;
}

fn unknown(name: &str) -> Answer {
    Answer::not_found(format_args!("no peer is configured as {name}; /peers lists all peers"))
}

fn text(value: &Value) -> String {
    format!("{value:#}\n")
}

impl SharedState {
    fn configured(&self, name: &str) -> Option<Peer> {
        self.sepp.live().configured(&name.parse().ok()?).cloned()
    }

    /// Returns all peers, or the one with this FQDN.
    fn peers(&self, only: Option<&str>) -> Vec<Value> {
        let configuration = self.sepp.live().configuration.clone();
        let only = only.map(str::parse::<Fqdn>);
        let states = self.sepp.associations().peers();
        let shown = configuration.peer.iter().filter(|(_, peer)| match &only {
            None => true,
            Some(name) => name.as_ref() == Ok(&peer.fqdn),
        });
        let peer = |(name, peer): (&String, &Peer)| {
            let state = states.iter().find(|status| status.fqdn == peer.fqdn);
            let (reach, since) = self.sepp.reach(&peer.fqdn);
            let mut value = of_peer(name, peer, state.map(|status| &status.state));
            value["n32f"] = json!({ "state": reach.as_str(), "seconds": since.as_secs() });
            if let Reach::Unreachable { reason } = reach {
                value["n32f"]["reason"] = json!(&*reason);
            }
            value
        };
        shown.map(peer).collect()
    }
}

fn of_peer(name: &str, peer: &Peer, state: Option<&State>) -> Value {
    let reconnection = &peer.reconnection;
    let mut value = json!({
        "name": name,
        "fqdn": peer.fqdn.as_str(),
        "plmns": peer.plmns.iter().map(|id| id.to_string()).collect::<Vec<_>>(),
        "anchor": peer.anchor,
        "state": state.map(State::as_str),
        "initiate": peer.initiate,
        "resume": reconnection.resume,
        "early-data": match (reconnection.early_data, reconnection.risky_replayable_early_data) {
            (EarlyData::Fs, _) => "fs",
            (EarlyData::Never, true) => "replayable",
            (EarlyData::Never, false) => "never",
        },
    });
    match state {
        Some(State::Established(association)) => value["association"] = of(association),
        Some(State::Exception(failure)) => value["failure"] = json!(failure.to_string()),
        _ => {}
    }
    value
}

fn of(association: &Association) -> Value {
    let certificate = &association.certificate;
    json!({
        "id": association.id.to_string(),
        "seconds": association.since.elapsed().as_secs(),
        "plmns": association.plmns.iter().map(|id| id.to_string()).collect::<Vec<_>>(),
        "n32f-fqdn": association.n32f_fqdn.as_str(),
        "n32f-ports": association.n32f_ports,
        "target-api-root": association.target_api_root,
        "features": association.features.to_string(),
        "purposes": association.purposes.as_ref().map(|purposes| {
            purposes.iter().map(|purpose| purpose.as_str().to_owned()).collect::<Vec<_>>()
        }),
        "certificate": {
            "sha-256": hex::encode(&certificate.fingerprint),
            "anchor": &*certificate.anchor,
            "not-after": certificate.expires_at,
            "days-left": days_left(certificate.expires_at, clock::unix().as_secs()),
        },
    })
}
