//! What only a client's association has: its start, and early data.

use alloc::boxed::Box;

use super::server_address::FollowedServer;
use super::{AssociationOptions, ClientAssociation, ResetToken};
use crate::crypto::Hash;
use crate::error::Error;
use crate::handshake::{Checked, ClientConfig, Core, Destination};
use crate::record::DatagramBelow;
use crate::role::Role;
use crate::schedule::DATAGRAM;
use crate::time::Time;

/// What a client keeps of its server, boxed: a server's associations are many.
pub(super) struct KnownServer {
    /// For resets.
    pub(super) sha256: Option<&'static dyn Hash>,
    pub(super) reset_token: Option<ResetToken>,
    /// If it follows the server to a socket of the association's own.
    pub(super) followed: Option<FollowedServer>,
}

impl ClientAssociation {
    /// Starts an association; [`transmit`](super::Association::transmit) sends the ClientHello. Early data may be
    /// written at once, so that both go out together.
    pub fn start(
        config: Checked<ClientConfig>,
        mut destination: Destination,
        options: AssociationOptions,
        now: Time,
    ) -> Result<Self, Error> {
        let mut datagrams = options.datagrams(Role::Client);
        destination.extensions.extend(options.extensions(Role::Client));
        let mut below = DatagramBelow { datagrams: &mut datagrams };
        let sha256 = config.provider.sha256();
        let core = Core::client(config, destination, &DATAGRAM, now, &mut below)?;
        let followed = options.follows_to.map(FollowedServer::new);
        let server = Some(Box::new(KnownServer { sha256, reset_token: None, followed }));
        Ok(Self { server, ..Self::new(core, datagrams, options.connection_id) })
    }

    /// Returns how many bytes of early data may be written now, in one datagram: 0 without a ticket for it, or once the
    /// server has answered.
    #[must_use]
    pub fn early_data_room(&self) -> usize {
        let is_open = self.check_writable().is_ok() && self.datagrams.is_in_early_data();
        if is_open { self.datagrams.early_data_left.min(self.datagrams.max_data()) } else { 0 }
    }

    /// Writes early data, all of it or nothing, as one datagram's content; returns whether it was taken.
    /// [`transmit`](super::Association::transmit) sends it after the ClientHello, once.
    ///
    /// Accepted isn't received: early data may be lost. Of a server that [counts it](crate::Facts::early_records_taken)
    /// the first so many calls arrived, and nothing that was written after them was or will be executed: send that
    /// again. Of any other server each may have been.
    pub fn write_early_data(&mut self, data: &[u8]) -> Result<bool, Error> {
        self.check_writable()?;
        if data.len() > self.early_data_room() {
            return Ok(false);
        }
        let written = self.datagrams.add_early_data(data);
        self.core.wrote_early_data(written);
        Ok(written == data.len())
    }
}
