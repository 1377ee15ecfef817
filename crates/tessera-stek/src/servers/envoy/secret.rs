//! Envoy's form of the keys.

use std::sync::Arc;

use prost::Message;
use zeroize::{Zeroize, Zeroizing};

use super::messages::{
    Any, ControlPlane, DataSource, DiscoveryResponse, SECRET, Secret, TlsSessionTicketKeys,
};
use crate::keys::ServerKeySet;

/// An encoded `Secret`.
pub(super) type EncodedSecret = Zeroizing<Vec<u8>>;

/// The keys that the Envoys should have.
#[derive(Clone, Default)]
pub(super) struct Snapshot {
    /// Grows with each change.
    pub(super) version: u64,
    /// None before the first installation.
    pub(super) secret: Option<Arc<EncodedSecret>>,
}

/// Encodes the keys: the first seals, all open.
pub(super) fn encode(name: &str, keys: &ServerKeySet) -> EncodedSecret {
    let keys = keys.in_order().map(|key| DataSource { inline_bytes: key.to_vec() }).collect();
    let session_ticket_keys = Some(TlsSessionTicketKeys { keys });
    let mut secret = Secret { name: name.into(), session_ticket_keys };
    let encoded = encoded(&secret);
    let keys = secret.session_ticket_keys.iter_mut().flat_map(|it| &mut it.keys);
    keys.for_each(|key| key.inline_bytes.zeroize());
    encoded
}

/// Encodes the response that carries a secret.
pub(super) fn response(version: u64, secret: &EncodedSecret) -> Zeroizing<Vec<u8>> {
    let version = version.to_string();
    let mut response = DiscoveryResponse {
        version_info: version.clone(),
        resources: vec![Any { type_url: SECRET.into(), value: secret.to_vec() }],
        type_url: SECRET.into(),
        nonce: version,
        control_plane: Some(ControlPlane { identifier: format!("{:<PADDED$}", "tessera-stek") }),
    };
    let encoded = encoded(&response);
    response.resources.iter_mut().for_each(|resource| resource.value.zeroize());
    encoded
}

/// Long enough for `h2` to write a response from where it is: it copies shorter ones than 1,024 bytes into a buffer that
/// is not wiped (`CHAIN_THRESHOLD_WITHOUT_VECTORED_IO` in `src/codec/framed_write.rs` of `h2` 0.4).
const PADDED: usize = 1024;

/// It has its whole length from the start: growing would leave keys behind.
fn encoded(message: &impl Message) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(message.encode_to_vec())
}
