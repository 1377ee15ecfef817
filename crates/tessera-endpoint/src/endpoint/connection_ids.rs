//! The connection IDs that an endpoint gives to clients (RFC 9147 §9).

use tessera::{ConnectionId, ConnectionIdUsage};

use super::{AssociationId, Endpoint};
use crate::options::MAX_CONNECTION_ID_LEN;
use crate::resets::AssociationNumber;

impl Endpoint {
    /// Returns a connection ID that no association has; none without randomness, or if all short ones are taken.
    pub(super) fn new_connection_id(
        &self,
        number: Option<AssociationNumber>,
    ) -> Option<ConnectionId> {
        let mut bytes = [0; MAX_CONNECTION_ID_LEN];
        let bytes = &mut bytes[..self.options.connection_id_len];
        if bytes.is_empty() {
            return ConnectionId::new(bytes);
        }
        let mut fresh = || {
            self.random.fill(bytes).ok()?;
            if let Some((resets, number)) = self.resets.as_ref().zip(number) {
                resets.make_id(number, bytes);
            }
            ConnectionId::new(bytes).filter(|id| !self.routes.has_id(id))
        };
        (0..MAX_DRAWS).find_map(|_| fresh())
    }

    /// Gives a client that asks for `count` connection IDs as many as it may have.
    pub(super) fn give_connection_ids(&mut self, id: AssociationId, count: u8) {
        let known = self.with(id, |association| {
            (association.room_for_connection_ids(), association.connection_ids().first().cloned())
        });
        let Some((room, known)) = known else { return };
        let number =
            self.resets.as_ref().zip(known).and_then(|(resets, known)| resets.number_of(&known));
        let mut ids = Vec::new();
        for _ in 0..room.min(count.into()) {
            let Some(next) = self.new_connection_id(number) else { break };
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
