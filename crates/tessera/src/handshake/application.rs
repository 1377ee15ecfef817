//! After the handshake, on either side: key updates and exporters.

use alloc::vec::Vec;

use super::below::{Below, Direction, Epoch};
use super::context::Context;
use crate::auth::RemainingCodecs;
use crate::crypto::Suite;
use crate::error::{Error, decode_error, illegal_parameter, unexpected_message};
use crate::limits::MAX_POST_HANDSHAKE_IN_A_ROW;
use crate::role::Role;
use crate::schedule::{ApplicationSecrets, ExporterSecret, TrafficSecret};
use crate::wire::{HandshakeMessage, HandshakeType, Writer, write_message};

/// The secrets of a connection whose handshake is complete.
pub struct Application {
    pub(crate) suite: &'static Suite,
    pub(super) secrets: ApplicationSecrets,
    /// This side's role.
    pub(super) role: Role,
    /// What remains of the certificate codecs; a server drops it with its tickets.
    pub(crate) codecs: RemainingCodecs,
    pub(super) post_handshake_in_a_row: u8,
    /// The peer asked for new keys of this side; they come with the next data, however often it asked
    /// (RFC 8446 §4.6.3).
    pub(super) update_requested: bool,
}

impl Application {
    pub(crate) fn new(
        suite: &'static Suite,
        role: Role,
        secrets: ApplicationSecrets,
        codecs: RemainingCodecs,
    ) -> Self {
        Self { suite, secrets, role, codecs, post_handshake_in_a_row: 0, update_requested: false }
    }

    /// Returns exporter_master_secret, or an error once the connection has ended.
    pub(crate) fn exporter(&self) -> Result<ExporterSecret<'_>, Error> {
        self.secrets.exporter().ok_or(Error::Closed)
    }

    /// Returns the traffic secret of a direction; `None` once it has ended.
    pub(crate) fn traffic(&self, direction: Direction) -> Option<TrafficSecret<'_>> {
        self.secrets.traffic(match direction {
            Direction::Write => self.role,
            Direction::Read => self.role.peer(),
        })
    }

    /// Drops the secrets of a direction that has ended.
    pub(crate) fn end(&mut self, direction: Direction) {
        self.secrets.end(match direction {
            Direction::Write => self.role,
            Direction::Read => self.role.peer(),
        });
    }

    /// Handles what either peer may send, if the profile has it: a KeyUpdate (RFC 8446 §4.6.3).
    pub(crate) fn receive(
        &mut self,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<(), Error> {
        let mut reader = message.reader_for(HandshakeType::KEY_UPDATE)?;
        if !ctx.profile.key_update {
            return Err(unexpected_message("a KeyUpdate in a protocol that has none"));
        }
        self.count_post_handshake()?;
        let request = reader.u8()?;
        reader.finish().map_err(|_| decode_error("a KeyUpdate is too long"))?;
        let requested = match request {
            UPDATE_NOT_REQUESTED => false,
            UPDATE_REQUESTED => true,
            _ => return Err(illegal_parameter("a KeyUpdate asks for something unknown")),
        };
        let next = self.secrets.update(self.role.peer()).ok_or(Error::Closed)?;
        ctx.install(Direction::Read, Epoch::Application, self.suite, next)?;
        self.update_requested |= requested;
        Ok(())
    }

    /// Returns whether the peer waits for new keys of this side.
    pub(crate) fn owes_update(&self) -> bool {
        self.update_requested
    }

    /// Changes this side's keys, and with `request` asks the peer to do the same. Builds the message in
    /// `scratch`. In its own frame: the caller wipes it.
    #[inline(never)]
    pub(crate) fn update_write_key(
        &mut self,
        request: bool,
        scratch: &mut Vec<u8>,
        below: &mut dyn Below,
    ) -> Result<(), Error> {
        below.may_update()?;
        let next = self.secrets.update(self.role).ok_or(Error::Closed)?;
        scratch.clear();
        write_message(scratch, HandshakeType::KEY_UPDATE, |out| {
            out.u8(if request { UPDATE_REQUESTED } else { UPDATE_NOT_REQUESTED });
        });
        self.update_requested = false;
        below.update(scratch, self.suite, next);
        Ok(())
    }

    /// Counts messages after the handshake; a flood of them without data ends the connection.
    pub(crate) fn count_post_handshake(&mut self) -> Result<(), Error> {
        self.post_handshake_in_a_row += 1;
        if self.post_handshake_in_a_row > MAX_POST_HANDSHAKE_IN_A_ROW {
            return Err(unexpected_message(
                "too many handshake messages without data between them",
            ));
        }
        Ok(())
    }

    /// Notes application data: the peer doesn't flood, and has accepted a client's last flight.
    pub(crate) fn saw_data(&mut self) {
        self.post_handshake_in_a_row = 0;
        self.codecs.accepted();
    }
}

const UPDATE_NOT_REQUESTED: u8 = 0;
const UPDATE_REQUESTED: u8 = 1;
