//! The profile of a SEPP for its NRF.

use std::net::IpAddr;

use serde_json::{Value, json};
use tessera::wire::CipherSuite;

use crate::config::{Configuration, ListenAddress};
use crate::names::Fqdn;

/// Returns the NFProfile of TS 29.510 §6.1.6.2.2, without what the registration adds. `sbi` is where local network
/// functions reach this SEPP.
pub(crate) fn profile(configuration: &Configuration, sbi: &ListenAddress) -> Value {
    let local = &configuration.local;
    let scheme = if configuration.sbi.certificate.is_some() { "https" } else { "http" };
    let plmns: Vec<_> = local.plmns.iter().collect();
    let remote: Vec<_> = configuration
        .peer
        .values()
        .flat_map(|peer| peer.plmns.iter().collect::<Vec<_>>())
        .collect();
    let mut profile = json!({
        "nfType": "SEPP",
        "nfStatus": "REGISTERED",
        "fqdn": local.fqdn.as_str(),
        "plmnList": plmns,
    });
    if !remote.is_empty() {
        profile["seppInfo"]["remotePlmnList"] = json!(remote);
    }
    if let ListenAddress::Tcp(address) = sbi {
        profile["seppInfo"]["seppPorts"][scheme] = address.port().into();
        match address.ip() {
            ip if ip.is_unspecified() => {}
            IpAddr::V4(ip) => profile["ipv4Addresses"] = json!([ip.to_string()]),
            IpAddr::V6(ip) => profile["ipv6Addresses"] = json!([ip.to_string()]),
        }
    }
    profile
}

/// Returns the UUID of the SEPP with this name, the same at each start: version 8 of RFC 9562 §5.8, of a digest.
pub(crate) fn instance_id(fqdn: &Fqdn) -> String {
    let provider = tessera_aws_lc::provider();
    let input = format!("tessera sepp instance 1 {fqdn}");
    let mut id = [0; 16];
    if let Some(suite) = provider.suite(CipherSuite::TLS_AES_128_GCM_SHA256) {
        let digest = suite.hash.hash(input.as_bytes());
        for (octet, digest) in id.iter_mut().zip(digest.as_ref()) {
            *octet = *digest;
        }
    }
    id[6] = id[6] & 0x0f | 0x80;
    id[8] = id[8] & 0x3f | 0x80;
    let id = tessera_kit::hex::encode(&id);
    format!("{}-{}-{}-{}-{}", &id[..8], &id[8..12], &id[12..16], &id[16..20], &id[20..])
}
