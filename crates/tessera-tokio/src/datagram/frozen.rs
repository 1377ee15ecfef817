//! Connections that move into another process.

use std::collections::VecDeque;
use std::sync::Arc;

use tessera::handshake::ServerHandshake;
use tessera_endpoint::{Endpoint, FrozenAssociation, ThawError};

use super::associations::Associations;
use super::connection::ServerDatagramConnection;
use super::hub::{Hub, State};
use super::peer::{Failure, Peer};
use crate::sessions::SessionWriter;

impl ServerDatagramConnection {
    /// Returns whether it has failed because it [has moved out](crate::DatagramListener::freeze).
    pub fn has_moved_out(&self) -> bool {
        self.peer(|peer| matches!(peer.failed, Some(Failure::MovedOut)))
    }
}

impl State<ServerHandshake> {
    /// Moves out all associations that can.
    pub(super) fn freeze(&mut self) -> Vec<FrozenAssociation> {
        self.flush();
        let now = self.now();
        let mut frozen = Vec::new();
        let ids: Vec<_> = self.peers.keys().copied().collect();
        for id in ids {
            let Some(peer) = self.peers.get(&id) else { continue };
            if peer.failed.is_some() || peer.begun.is_withdrawn(&peer.facts) {
                continue;
            }
            let bytes = Associations::bytes(&self.associations, id);
            let Some(association) = self.associations.freeze(id, now) else { continue };
            frozen.push(association);
            if let Some(peer) = self.peers.get_mut(&id) {
                peer.bytes = bytes.unwrap_or_default();
                peer.fail(Failure::MovedOut);
                if !peer.has_user {
                    self.peers.remove(&id);
                    if let Some(arrivals) = &mut self.arrivals {
                        arrivals.retain(|it| *it != id);
                    }
                }
            }
        }
        frozen
    }
}

/// Moves associations into an endpoint that has received nothing yet; returns why others were not.
pub(super) fn thaw(
    hub: &Arc<Hub<ServerHandshake>>,
    frozen: Vec<FrozenAssociation>,
) -> Vec<ThawError> {
    let mut state = hub.lock();
    let now = state.now();
    let mut refused = Vec::new();
    let mut arrivals = VecDeque::with_capacity(frozen.len());
    for association in frozen {
        match Endpoint::thaw(&mut state.associations, association, now) {
            Ok(id) => {
                let (_, mut begun) = state.config.begin();
                let facts = state.associations.facts(id, now);
                begun.complete(&facts);
                let room = state.room.clone();
                let mut peer = Peer::new(begun, SessionWriter::default(), room);
                peer.address = Associations::path(&state.associations, id).map(|path| path.remote);
                (peer.is_open, peer.is_complete, peer.facts) = (true, true, facts);
                state.peers.insert(id, peer);
                arrivals.push_back(id);
            }
            Err(why) => refused.push(why),
        }
    }
    state.arrivals = Some(arrivals);
    refused
}
