//! Connections that move into another process.

use std::collections::VecDeque;
use std::sync::Arc;

use tessera::handshake::ServerHandshake;
use tessera_endpoint::{Endpoint, FrozenAssociation, ThawError};

use super::associations::Associations;
use super::connection::ServerDatagramConnection;
use super::hub::{Hub, State};
use super::peer::{FailedAssociation, Failure, Peer};
use crate::sessions::SessionWriter;

impl ServerDatagramConnection {
    /// Returns whether it has failed because it [has moved out](crate::DatagramListener::freeze).
    pub fn has_moved_out(&self) -> bool {
        let is_moved = |it: &FailedAssociation| matches!(it.failure, Failure::MovedOut);
        self.peer(|peer| peer.failed.as_deref().is_some_and(is_moved))
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
            let known = self.known(id);
            let Some(peer) = self.peers.get(&id) else { continue };
            if peer.failed.is_some() || peer.begun.is_withdrawn(&known.facts) {
                continue;
            }
            let Some(association) = self.associations.freeze(id, now) else { continue };
            frozen.push(association);
            if let Some(peer) = self.peers.get_mut(&id) {
                peer.fail(Failure::MovedOut, known);
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
                state.associations.look_at(id, now, |it| begun.complete(it.facts()));
                let room = state.room.clone();
                let mut peer = Peer::new(begun, SessionWriter::default(), room);
                peer.address = Associations::path(&state.associations, id).map(|path| path.remote);
                (peer.is_open, peer.is_complete) = (true, true);
                state.peers.insert(id, Box::new(peer));
                arrivals.push_back(id);
            }
            Err(why) => refused.push(why),
        }
    }
    state.arrivals = Some(arrivals);
    refused
}
