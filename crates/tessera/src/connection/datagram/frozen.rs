//! Associations of a server that move to another process.

use alloc::vec::Vec;

use super::{IdleAssociation, ServerAssociation};
use crate::connection_id::ConnectionId;
use crate::crypto::Provider;
use crate::handshake::CoreWithoutSecrets;
use crate::record::IdleDatagrams;
use crate::time::Time;
use crate::wire::{Reader, Writer};

impl ServerAssociation {
    /// Moves the association into bytes, which are appended to `out`; what is left has ended. Returns whether it did: not
    /// before the handshake is complete, while messages or ACKs are under way, after a KeyUpdate of the peer until it uses
    /// the new keys, nor once either side has closed.
    ///
    /// The bytes are secret, and must be [thawed](IdleAssociation::thaw) once at most: two associations from them would
    /// use the same nonces. From the first secret on, `out` doesn't grow.
    pub fn freeze(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        let Some(earlier) = self.datagrams.take_earlier_epochs() else { return false };
        let Some(mut idle) = self.take_idle(now) else {
            self.datagrams.put_back(earlier);
            return false;
        };
        idle.datagrams.keep_last_flight(earlier);
        idle.write(now, out);
        true
    }
}

impl IdleAssociation {
    /// Returns the association that [`freeze`](ServerAssociation::freeze) wrote; `None` if it is damaged, of another version,
    /// or of a suite that the provider lacks.
    #[must_use]
    pub fn thaw(bytes: &[u8], provider: &Provider, now: Time) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        if reader.u8().ok()? != VERSION {
            return None;
        }
        let own_id = match reader.u8().ok()? {
            0 => None,
            _ => Some(ConnectionId::new(reader.vec8().ok()?)?),
        };
        let (awaits_ids, can_check_paths) = (reader.u8().ok()? != 0, reader.u8().ok()? != 0);
        let warnings = reader.u8().ok()?;
        let core = CoreWithoutSecrets::read(&mut reader, provider)?;
        let datagrams = IdleDatagrams::read(&mut reader, core.suite, now.monotonic)?;
        let core = core.with_secrets(&mut reader, provider)?;
        reader.finish().ok()?;
        Some(Self { core, datagrams, own_id, awaits_ids, can_check_paths, warnings })
    }

    fn write(&self, now: Time, out: &mut Vec<u8>) {
        let Self { core, datagrams, own_id, awaits_ids, can_check_paths, warnings } = self;
        out.u8(VERSION);
        out.u8(u8::from(own_id.is_some()));
        if let Some(id) = own_id {
            out.vec8(|out| out.bytes(id.as_ref()));
        }
        out.u8(u8::from(*awaits_ids));
        out.u8(u8::from(*can_check_paths));
        out.u8(*warnings);
        core.write(out);
        datagrams.write(now.monotonic, out);
        out.reserve_exact(SECRETS);
        core.write_secrets(out);
    }
}

/// The version of the encoding.
const VERSION: u8 = 3;

/// Room for three secrets with their lengths.
const SECRETS: usize = 3 * 49;
