//! What the handshake needs of what carries it: messages, keys and limits. Records over a stream
//! implement it, and faces outside of this crate.

use crate::crypto::Suite;
use crate::error::Error;
use crate::padding::Padding;
use crate::schedule::TrafficSecret;

/// Which keys protect a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Epoch {
    /// None: the first messages.
    Initial,
    /// client_early_traffic_secret.
    EarlyData,
    /// The handshake traffic secrets.
    Handshake,
    /// The application traffic secrets.
    Application,
}

/// Which way protected bytes travel, as this side sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the peer.
    Read,
    /// To the peer.
    Write,
}

/// What carries a handshake: sends messages and changes keys. It never decides.
pub trait Below {
    /// Sends a handshake message under the keys of `epoch`, which are the newest installed.
    fn send(&mut self, epoch: Epoch, message: &[u8]);

    /// An error if the peer already sent a part of another message: nothing may follow the last
    /// message of a flight before it is answered.
    fn flight_ended(&self) -> Result<(), Error>;

    /// From now on everything in this direction is protected under this secret. An error if keys to
    /// read with change while the peer already sent a part of another message under the old ones
    /// (RFC 8446 §5.1).
    fn install(
        &mut self,
        direction: Direction,
        epoch: Epoch,
        suite: &'static Suite,
        secret: &TrafficSecret,
    ) -> Result<(), Error>;

    /// Sends a KeyUpdate, and from then on protects what is sent under `next` (RFC 8446 §4.6.3).
    fn update(&mut self, key_update: &[u8], suite: &'static Suite, next: &TrafficSecret);

    /// The early data that was sent is refused before its end: the second ClientHello goes out in
    /// plaintext again (RFC 8446 §4.1.2).
    fn withdraw_early_data(&mut self);

    /// A step of the handshake has ended, in success or not: what it sent can share packets, and goes out now. What
    /// is sealed here leaves nothing on the stack: the core wipes it afterwards.
    fn step_ended(&mut self) {}

    /// What is sent or received is limited, or padded, from now on.
    fn limit(&mut self, limit: Limit);
}

/// A limit on what is sent or received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// At most this many bytes of early data, in whichever direction it goes (RFC 8446 §4.2.10).
    EarlyData(u32),
    /// What looks like refused early data is dropped, up to this many bytes (RFC 8446 §4.2.10).
    RefusedEarlyData(RefusedEarlyData, usize),
    /// The largest plaintext records, content type included, where both sides named them (RFC 8449).
    Records {
        /// What the peer takes.
        peer: u16,
        /// What this side takes.
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
