//! The connection IDs that an endpoint gives to clients (RFC 9147 §9).

use tessera::{ConnectionId, ConnectionIdUsage};

use super::{AssociationId, Endpoint};
use crate::options::MAX_CONNECTION_ID_LEN;

impl Endpoint {
    /// Returns a connection ID that no association has; none without randomness, or if all short ones are taken.
    pub(super) fn new_connection_id(&self) -> Option<ConnectionId> {
        let mut bytes = [0; MAX_CONNECTION_ID_LEN];
        let bytes = &mut bytes[..self.options.connection_id_len];
        if bytes.is_empty() {
            return ConnectionId::new(bytes);
        }
        let mut fresh = || {
            self.random.fill(bytes).ok()?;
            ConnectionId::new(bytes).filter(|id| !self.routes.has_id(id))
        };
        (0..MAX_DRAWS).find_map(|_| fresh())
    }

    /// Gives a client that asks for `count` connection IDs as many as it may have.
    pub(super) fn give_connection_ids(&mut self, id: AssociationId, count: u8) {
        let Some(room) = self.with(id, |association| association.room_for_connection_ids()) else {
            return;
        };
        let mut ids = Vec::new();
        for _ in 0..room.min(count.into()) {
            let Some(next) = self.new_connection_id() else { break };
            self.routes.add_id(id.0, &next);
            ids.push(next);
        }
        let given = self.with(id, |association| {
            association.give_connection_ids(&ids, ConnectionIdUsage::Spare)
        });
        // Those that the client has used up, or, if none could be given, these.
        for gone in given.and_then(Result::ok).unwrap_or(ids) {
            self.routes.remove_id(&gone);
        }
    }
}

/// How often a connection ID is drawn that isn't taken.
const MAX_DRAWS: usize = 8;
