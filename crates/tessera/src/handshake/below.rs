//! What the handshake needs of its carrier: messages, keys and limits. Implemented by records over a
//! stream, and by faces outside this crate.

use crate::crypto::Suite;
use crate::error::Error;
use crate::padding::Padding;
use crate::schedule::TrafficSecret;

/// The keys that protect a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Epoch {
    /// No keys: the first messages.
    Initial,
    /// client_early_traffic_secret.
    EarlyData,
    /// The handshake traffic secrets.
    Handshake,
    /// The authenticated handshake traffic secrets, between those with KEM authentication (docs/kem-auth.md).
    AuthenticatedHandshake,
    /// The application traffic secrets.
    Application,
}

/// The direction of protected bytes, from this side's view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the peer.
    Read,
    /// To the peer.
    Write,
}

/// The carrier of a handshake: sends messages and changes keys. It makes no decisions.
pub trait Below {
    /// Sends a handshake message under the keys of `epoch`, the newest installed.
    fn send(&mut self, epoch: Epoch, message: &[u8]);

    /// Returns an error if the peer has already sent a part of another message: nothing may follow the last
    /// message of a flight before it is answered.
    fn flight_ended(&self) -> Result<(), Error>;

    /// Protects everything in this direction under this secret from now on. Returns an error if the read keys
    /// change although the peer has already sent a part of another message under the old ones
    /// (RFC 8446 §5.1).
    fn install(
        &mut self,
        direction: Direction,
        epoch: Epoch,
        suite: &'static Suite,
        secret: TrafficSecret<'_>,
    ) -> Result<(), Error>;

    /// Returns an error if no KeyUpdate may be sent now: over datagrams, the earlier one must be acknowledged
    /// (RFC 9147 §8), and messages have numbers.
    fn may_update(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Sends a KeyUpdate, and then protects everything sent under `next` (RFC 8446 §4.6.3): over datagrams, once it and
    /// all before it are acknowledged (RFC 9147 §8).
    fn update(&mut self, key_update: &[u8], suite: &'static Suite, next: TrafficSecret<'_>);

    /// Returns how many records of early data have arrived, without a gap from the first on, and takes no more. `None`
    /// where none can be missing, as over a stream.
    fn close_early_data(&mut self) -> Option<u32> {
        None
    }

    /// Returns how many records of early data were sent, where they are counted: a server can't have taken more.
    fn early_records_sent(&self) -> u64 {
        0
    }

    /// Withdraws early data that the server refused before its end: the second ClientHello goes out in
    /// plaintext again (RFC 8446 §4.1.2).
    fn withdraw_early_data(&mut self);

    /// Called when a step of the handshake has ended, successfully or not: its messages can share packets, and go out
    /// now. Sealing here leaves nothing on the stack: the core wipes it afterwards.
    fn step_ended(&mut self) {}

    /// Limits or pads what is sent or received from now on.
    fn limit(&mut self, limit: Limit);
}

/// A limit on what is sent or received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// At most this many bytes of early data, in either direction (RFC 8446 §4.2.10).
    EarlyData(u32),
    /// Drop what looks like refused early data, up to this many bytes (RFC 8446 §4.2.10).
    RefusedEarlyData(RefusedEarlyData, usize),
    /// The largest plaintext records, content type included, if both sides negotiated them (RFC 8449).
    Records {
        /// What the peer accepts.
        peer: u16,
        /// What this side accepts.
        own: u16,
    },
    /// How protected records are padded.
    Padding(Padding),
}

/// How refused early data is recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedEarlyData {
    /// Records that don't open under the handshake keys.
    DoesNotOpen,
    /// Protected records before the second ClientHello, which is in plaintext.
    BeforeSecondHello,
}
