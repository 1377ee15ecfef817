//! `3gpp-Sbi-Originating-Network-Id`: the network that a request comes from.

use std::fmt;

use http::{HeaderMap, HeaderValue};

use super::headers::ORIGINATING_NETWORK_ID;
use crate::names::{Fqdn, PlmnId};

/// Returns the value that a SEPP adds if an NF set none: `001-01; src: SEPP-sepp.5gc...` (TS 29.500 §5.2.3.2.15).
/// `None` if it is not a valid header value, which no PLMN ID or name causes.
pub fn value(plmn: PlmnId, sepp: &Fqdn) -> Option<HeaderValue> {
    HeaderValue::from_str(&format!("{plmn}; src: SEPP-{sepp}")).ok()
}

/// Returns the network that a request claims to come from; `None` if there is no claim. The text after the first `;`
/// names the node that added it, in several spellings, and proves nothing.
///
/// # Errors
/// If it is malformed, or is present more than once with different networks.
pub fn of_headers(headers: &HeaderMap) -> Result<Option<PlmnId>, NotANetwork> {
    let mut found = None;
    for value in headers.get_all(ORIGINATING_NETWORK_ID) {
        let plmn = parse(value.to_str().map_err(|_| NotANetwork)?)?;
        if found.is_some_and(|earlier| earlier != plmn) {
            return Err(NotANetwork);
        }
        found = Some(plmn);
    }
    Ok(found)
}

/// Reads `MCC-MNC[-NID][; source]`.
fn parse(text: &str) -> Result<PlmnId, NotANetwork> {
    let id = text.split(';').next().unwrap_or_default().trim_matches([' ', '\t']);
    let mut parts = id.splitn(3, '-');
    let (mcc, mnc) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    // A network identifier of a stand-alone network (TS 23.003 §12.7) has 11 hexadecimal digits.
    let is_nid = |nid: &str| nid.len() == 11 && nid.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !parts.next().is_none_or(is_nid) {
        return Err(NotANetwork);
    }
    PlmnId::new(mcc, mnc).map_err(|_| NotANetwork)
}

/// The header does not name one network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotANetwork;

impl fmt::Display for NotANetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("3gpp-Sbi-Originating-Network-Id must be one MCC-MNC")
    }
}

impl std::error::Error for NotANetwork {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_is_read_again_and_other_spellings_too() {
        let own: PlmnId = "999-70".parse().unwrap();
        let written =
            value(own, &"sepp1.5gc.mnc070.mcc999.3gppnetwork.org".parse().unwrap()).unwrap();
        assert_eq!(written, "999-70; src: SEPP-sepp1.5gc.mnc070.mcc999.3gppnetwork.org");
        assert_eq!(parse(written.to_str().unwrap()), Ok(own));
        for text in ["999-70", "999-70; srctype=SEPP", "999-70 ;src: SCP-x.y", "999-70-000007ed9d5"]
        {
            assert_eq!(parse(text), Ok(own), "{text}");
        }
        assert_ne!(parse("999-070"), Ok(own));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in
            ["", ";", "99970", "999-7", "999-70-1", "999-70,001-01", "SEPP", "999-70-000007ed9d5-1"]
        {
            assert_eq!(parse(text), Err(NotANetwork), "{text}");
        }
    }

    #[test]
    fn two_different_networks_are_none() {
        let mut headers = HeaderMap::new();
        assert_eq!(of_headers(&headers), Ok(None));
        headers.append(ORIGINATING_NETWORK_ID, HeaderValue::from_static("999-70"));
        headers.append(ORIGINATING_NETWORK_ID, HeaderValue::from_static("999-70; src: SCP-a.b"));
        assert!(of_headers(&headers).unwrap().is_some());
        headers.append(ORIGINATING_NETWORK_ID, HeaderValue::from_static("001-01"));
        assert_eq!(of_headers(&headers), Err(NotANetwork));
    }
}
