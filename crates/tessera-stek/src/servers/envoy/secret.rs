//! Envoy's form of the keys.

use std::sync::Arc;

use envoy_types::pb::envoy::config::core::v3::DataSource;
use envoy_types::pb::envoy::config::core::v3::data_source::Specifier;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::secret::Type;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::{
    Secret, TlsSessionTicketKeys,
};
use envoy_types::pb::envoy::service::discovery::v3::DiscoveryResponse;
use envoy_types::pb::google::protobuf::Any;
use prost::{Message, Name};
use zeroize::{Zeroize, Zeroizing};

use crate::keys::KeysInRoles;

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
pub(super) fn encode(name: &str, keys: &KeysInRoles) -> EncodedSecret {
    let in_order = [&keys.issuing].into_iter().chain(&keys.next).chain(&keys.earlier);
    let source = |key: &Vec<u8>| DataSource {
        specifier: Some(Specifier::InlineBytes(key.clone())),
        ..DataSource::default()
    };
    let mut sources: Vec<_> = in_order.map(|key| source(key)).collect();
    let keys = TlsSessionTicketKeys { keys: std::mem::take(&mut sources) };
    let mut secret = Secret { name: name.into(), r#type: Some(Type::SessionTicketKeys(keys)) };
    // It has its whole length from the start: growing would leave keys behind.
    let encoded = Zeroizing::new(secret.encode_to_vec());
    if let Some(Type::SessionTicketKeys(keys)) = &mut secret.r#type {
        for source in &mut keys.keys {
            if let Some(Specifier::InlineBytes(key)) = &mut source.specifier {
                key.zeroize();
            }
        }
    }
    encoded
}

/// Returns the response that carries a secret.
pub(super) fn response(version: u64, secret: &EncodedSecret) -> DiscoveryResponse {
    let version = version.to_string();
    let resource = Any { type_url: Secret::type_url(), value: secret.to_vec() };
    DiscoveryResponse {
        version_info: version.clone(),
        resources: vec![resource],
        type_url: Secret::type_url(),
        nonce: version,
        ..DiscoveryResponse::default()
    }
}
