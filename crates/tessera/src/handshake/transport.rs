//! What the handshake needs of the transport below it. Streams implement it; datagrams and QUIC will.

use super::event::Event;
use crate::crypto::Suite;
use crate::error::Error;
use crate::schedule::TrafficSecret;
use crate::transport::Padding;

/// Which keys protect a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Epoch {
    /// None: the first messages.
    Initial,
    /// client_early_traffic_secret.
    EarlyData,
    /// The handshake traffic secrets.
    Handshake,
    /// The application traffic secrets.
    Application,
}

/// A transport: sends messages, changes keys, tells the user. It never decides.
pub(crate) trait Transport {
    /// Sends a handshake message under the keys of `epoch`, which are the newest installed.
    fn send(&mut self, epoch: Epoch, message: &[u8]);

    /// From now on everything is sent under this secret.
    fn install_write(&mut self, epoch: Epoch, suite: &'static Suite, secret: &TrafficSecret);

    /// The second ClientHello goes out in plaintext again, after early data under its keys (RFC 8446
    /// §4.1.2).
    fn uninstall_write(&mut self);

    /// From now on everything is received under this secret. An error if the peer already sent a
    /// part of another message under the old one (RFC 8446 §5.1).
    fn install_read(
        &mut self,
        epoch: Epoch,
        suite: &'static Suite,
        secret: &TrafficSecret,
    ) -> Result<(), Error>;

    /// An error if the peer already sent a part of another message: nothing may follow the last
    /// message of a flight before it is answered.
    fn end_of_flight(&self) -> Result<(), Error>;

    /// More early data than `limit` bytes is an error (RFC 8446 §4.2.10).
    fn limit_early_data(&mut self, limit: u32);

    /// Drops what looks like refused early data, up to `limit` bytes (RFC 8446 §4.2.10).
    fn skip_early_data(&mut self, skip: SkipEarlyData, limit: usize);

    /// Sends a change_cipher_spec for middleboxes, where the transport has one, once.
    fn change_cipher_spec(&mut self);

    /// The largest plaintext records that the peer and this side take, content type included, where
    /// both have said so (RFC 8449).
    fn limit_records(&mut self, peer_limit: u16, own_limit: u16);

    /// How protected records are padded from now on.
    fn pad_records(&mut self, padding: Padding);

    /// Tells the user.
    fn event(&mut self, event: Event);
}

/// How refused early data is recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SkipEarlyData {
    /// Records that don't open under the handshake keys.
    ThatDoesNotOpen,
    /// Protected records before the second ClientHello, which is in plaintext.
    UntilSecondHello,
}
