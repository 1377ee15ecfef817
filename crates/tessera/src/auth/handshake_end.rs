//! What a certificate codec learns when the handshake is complete.

use super::codec_peer::PeerCertificate;
use super::verifier::PeerIdentity;
use crate::error::Error;
use crate::time::Time;

/// The end of a complete handshake, as its codecs see it.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct HandshakeEnd<'a> {
    /// The peer's certificate, which the verifier accepted; `None` if it sent none, for example with a
    /// PSK.
    pub peer: Option<&'a PeerCertificate>,
    /// The peer's identity, from the verifier or from the resumed session.
    pub identity: Option<&'a PeerIdentity>,
    /// The current time.
    pub now: Time,
    /// HKDF-Expand-Label(resumption_master_secret, "bithac ticket", context, length).
    derive: &'a dyn Fn(&[u8], &mut [u8]),
}

impl<'a> HandshakeEnd<'a> {
    /// Creates an end whose tickets `derive` fills, from context and output. For tests of codecs; the engine
    /// makes those of real connections.
    pub fn new(
        peer: Option<&'a PeerCertificate>,
        identity: Option<&'a PeerIdentity>,
        now: Time,
        derive: &'a dyn Fn(&[u8], &mut [u8]),
    ) -> Self {
        Self { peer, identity, now, derive }
    }

    /// Fills `out` with a value that both ends of this connection derive from this context, and no other party can:
    /// HKDF-Expand-Label of resumption_master_secret with the label "bithac ticket" (RFC 8446 §7.1). Different
    /// contexts or lengths yield different values. The value reveals nothing of the secret.
    ///
    /// # Errors
    /// [`Error::Misuse`] if `context` or `out` has more than 255 bytes, or `out` has none; `out` is then
    /// unchanged.
    pub fn ticket(&self, context: &[u8], out: &mut [u8]) -> Result<(), Error> {
        if context.len() > MAX_LEN || !(1..=MAX_LEN).contains(&out.len()) {
            return Err(Error::Misuse("a context of at most 255 bytes, a ticket of 1 to 255"));
        }
        (self.derive)(context, out);
        Ok(())
    }
}

/// The longest context of an HkdfLabel (RFC 8446 §7.1), and so the longest ticket too.
const MAX_LEN: usize = 255;

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::{Error, HandshakeEnd, Time};

    #[test]
    fn a_certificate_ticket_that_no_label_has_room_for_is_refused() {
        let now = Time { monotonic: Duration::ZERO, unix: None };
        let derive = |_: &[u8], out: &mut [u8]| out.fill(7);
        let end = HandshakeEnd::new(None, None, now, &derive);
        let ticket = |context: usize, len: usize| {
            let mut out = [0; 256];
            let derived = end.ticket(&[1; 256][..context], &mut out[..len]);
            (derived.map_err(|error| matches!(error, Error::Misuse(_))), out[0])
        };
        for (context, len) in [(0, 1), (255, 255)] {
            assert_eq!(ticket(context, len), (Ok(()), 7));
        }
        for (context, len) in [(256, 8), (8, 256), (8, 0)] {
            assert_eq!(ticket(context, len), (Err(true), 0), "{context} {len}");
        }
    }
}
