//! A ClientHello's offer of forward-secret 0-RTT (docs/0rtt-fs.md).

use super::client_hello::{ClientHello, whole};
use super::code_points::ExtensionType;
use super::flight_handle::FlightHandle;
use super::reader::{CodePoints, Reader};
use crate::error::{Error, decode_error};
use crate::limits::MAX_RECEIPTS;

/// The extensions of a ClientHello for forward-secret 0-RTT. Their types are from the range
/// for private use (RFC 8446 §11), where others may use the same: only a server with the
/// feature enabled reads them; to every other they are unknown (§4.1.2: ignored).
#[derive(Clone, Copy, Default)]
pub struct ForwardSecretOffer<'a> {
    /// forward_secret_early_data: the kinds of one-time keys that the client can use.
    pub kinds: Option<CodePoints<'a>>,
    /// forward_secret_receipts: the flights that the client asks about.
    pub flight_handles: &'a [[u8; FlightHandle::LEN]],
}

impl<'a> ForwardSecretOffer<'a> {
    /// Reads the kinds, and the handles if this server answers them.
    pub fn read(hello: &ClientHello<'a>, reads_handles: bool) -> Result<Self, Error> {
        let mut offer = Self::default();
        for (typ, body) in hello.extensions.iter() {
            let list = || whole(Reader::new(body), Reader::vec16);
            match typ {
                ExtensionType::FORWARD_SECRET_EARLY_DATA => {
                    offer.kinds = Some(CodePoints::new(list()?)?);
                }
                ExtensionType::FORWARD_SECRET_RECEIPTS if reads_handles => {
                    offer.flight_handles = handles(list()?)?;
                }
                _ => (),
            }
        }
        Ok(offer)
    }
}

fn handles(list: &[u8]) -> Result<&[[u8; FlightHandle::LEN]], Error> {
    let (handles, rest) = list.as_chunks();
    if handles.is_empty() || handles.len() > MAX_RECEIPTS || !rest.is_empty() {
        return Err(decode_error("forward_secret_receipts is not a list of handles"));
    }
    Ok(handles)
}
