//! Moves associations into another process.

use std::time::Duration;

use tessera::face::{Reader, Writer};
use tessera::handshake::Foundation;
use tessera::{IdleAssociation, Time, Zeroizing};

use super::entry::Entry;
use super::{AssociationId, Endpoint};
use crate::frozen_association::{FrozenAssociation, ThawError};
use crate::path::Source;
use crate::peer_path::PeerPath;

impl Endpoint {
    /// Moves an association out, for the next process; `None`, and it stays, while its handshake isn't complete, messages
    /// or ACKs are under way, or once either side has closed; nor does one move with a
    /// [`chooser`](tessera::ServerConfig::chooser), or with a [socket](crate::OwnSockets) of its own.
    ///
    /// From the first call on, this endpoint begins no association and sends no reset: its clients are another's.
    pub fn freeze(&mut self, id: AssociationId, now: Time) -> Option<FrozenAssociation> {
        self.is_moving_out = true;
        self.resets = None;
        let entry = self.associations.get_mut(id.0)?;
        if entry.own.is_some() {
            return None;
        }
        let foundation = match self.config.foundation(entry.association.facts()) {
            Some(foundation) => foundation.encode()?,
            None => Zeroizing::default(),
        };
        let mut out = Zeroizing::new(Vec::with_capacity(ROOM + foundation.len()));
        out.u8(VERSION);
        entry.source.write(&mut out);
        out.u64(entry.received);
        out.u64(entry.sent);
        entry.peer.write(&mut out);
        out.vec24(|out| out.bytes(&foundation));
        // Their routes go with them.
        let (path, source, deadline) = (entry.peer.current(), entry.source, entry.deadline);
        let ids = entry.association.connection_ids().to_vec();
        if !entry.association.freeze(now, &mut out) {
            return None;
        }
        self.associations.remove(id.0);
        self.routes.remove(id.0, path, source);
        ids.iter().for_each(|id| self.routes.remove_id(id));
        self.timers.set(id.0, deadline, None);
        Some(FrozenAssociation::new(out))
    }

    /// Moves an association in that [`freeze`](Self::freeze) moved out of another endpoint, under its former addresses and
    /// connection IDs. It goes on with its next record. Thaw before the first datagram is [routed](Self::route): its reset
    /// would end an association that is still to come.
    ///
    /// # Errors
    /// [`ThawError`]: its client is informed by a reset when it sends next, if there is a key for that.
    pub fn thaw(
        &mut self,
        frozen: FrozenAssociation,
        now: Time,
    ) -> Result<AssociationId, ThawError> {
        let bytes = frozen.into_bytes();
        let mut reader = Reader::new(&bytes);
        let FrozenState { source, received, sent, peer, foundation } =
            FrozenState::read(&mut reader, now.monotonic).ok_or(ThawError::Unreadable)?;
        if foundation.is_some_and(|foundation| !self.config.upholds(&foundation)) {
            return Err(ThawError::Withdrawn);
        }
        let idle = IdleAssociation::thaw(reader.rest(), &self.config.provider, now);
        let idle = idle.ok_or(ThawError::Unreadable)?;
        let is_checked = peer.is_checked();
        let association = idle.wake();
        let ids = association.connection_ids().to_vec();
        let fits = |id: &tessera::ConnectionId| {
            id.is_empty() || id.len() == self.options.connection_id_len && !self.routes.has_id(id)
        };
        let has_id = association.connection_id().is_some();
        let is_led_to = has_id || self.routes.live(&peer.current()).is_none();
        if !is_led_to || !ids.iter().all(fits) {
            return Err(ThawError::ConnectionId);
        }
        if self.associations.len() >= self.options.max_associations
            || self.routes.count_at(source) >= self.options.max_per_source
        {
            return Err(ThawError::Full);
        }
        let id = self.next_id;
        self.next_id += 1;
        self.routes.restore(id, peer.current(), source, has_id);
        for connection_id in &ids {
            self.routes.add_id(id, connection_id);
            if let Some(resets) = &mut self.resets {
                resets.add(connection_id);
            }
        }
        let entry = Entry::restored(association, peer, source, [received, sent]);
        self.associations.insert(id, entry);
        // An idle one has no check.
        if is_checked || !self.associations.make_idle(id, now) {
            self.wake(AssociationId(id));
        }
        Ok(AssociationId(id))
    }
}

/// What a frozen association has of its endpoint.
struct FrozenState {
    source: Source,
    received: u64,
    sent: u64,
    peer: PeerPath,
    foundation: Option<Foundation>,
}

impl FrozenState {
    fn read(reader: &mut Reader<'_>, now: Duration) -> Option<Self> {
        if reader.u8().ok()? != VERSION {
            return None;
        }
        let source = Source::read(reader)?;
        let (received, sent) = (reader.u64().ok()?, reader.u64().ok()?);
        // They grow.
        received.max(sent).checked_mul(4)?;
        let peer = PeerPath::read(reader, now)?;
        let foundation = match reader.vec24().ok()? {
            [] => None,
            encoded => Some(Foundation::decode(encoded)?),
        };
        Some(Self { source, received, sent, peer, foundation })
    }
}

/// The version of the encoding.
const VERSION: u8 = 2;

/// The room for the bytes of an association without its foundation: most have less.
const ROOM: usize = 1024;
