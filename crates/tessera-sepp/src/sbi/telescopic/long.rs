//! Names that are too long for a label, such as a peer's hidden ones.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use tessera::wire::CipherSuite;

use super::foreign::ForeignFunction;
use crate::names::NetworkDomain;

/// Long names by a digest of each. Beyond [`MOST`], the network with the most loses its oldest: a peer only names its own
/// networks, so the others keep theirs, up to an even share. A restart forgets all. Labels that local functions still
/// hold then lead nowhere (404) until they repeat discovery.
#[derive(Debug, Default)]
pub(super) struct LongNames(Mutex<LabelTable>);

#[derive(Debug, Default)]
struct LabelTable {
    by_label: HashMap<Box<str>, ForeignFunction>,
    in_order: HashMap<NetworkDomain, VecDeque<Box<str>>>,
}

impl LongNames {
    /// Returns the label of an address; always the same one.
    pub(super) fn label(&self, foreign: ForeignFunction) -> Option<String> {
        let network = NetworkDomain::of_name(&foreign.host)?;
        let suite = tessera_aws_lc::provider().suite(CipherSuite::TLS_AES_128_GCM_SHA256)?.hash;
        let digest = suite.hash(foreign.api_root().as_bytes());
        let octets = digest.as_ref().get(..16)?;
        let label =
            octets.iter().fold(MARK.to_owned(), |label, octet| format!("{label}{octet:02x}"));
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.by_label.contains_key(label.as_str()) {
            if kept.by_label.len() >= MOST {
                kept.forget_one();
            }
            kept.in_order.entry(network).or_default().push_back(label.as_str().into());
            kept.by_label.insert(label.as_str().into(), foreign);
        }
        Some(label)
    }

    /// Returns what a lower-case label represents.
    pub(super) fn original(&self, label: &str) -> Option<ForeignFunction> {
        if !label.starts_with(MARK) {
            return None;
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).by_label.get(label).cloned()
    }
}

impl LabelTable {
    fn forget_one(&mut self) {
        let most = self.in_order.iter_mut().max_by_key(|(_, names)| names.len());
        let Some((&network, names)) = most else { return };
        if let Some(oldest) = names.pop_front() {
            self.by_label.remove(&oldest);
        }
        if names.is_empty() {
            self.in_order.remove(&network);
        }
    }
}

/// No computed label contains `-t`.
const MARK: &str = "x-t";

/// Some 30 MB at most.
const MOST: usize = 65_536;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sbi::api_root::Scheme;

    fn foreign(number: usize) -> ForeignFunction {
        let host = format!("{number}.5gc.mnc001.mcc001.3gppnetwork.org");
        ForeignFunction { scheme: Scheme::Https, host, port: None }
    }

    #[test]
    fn a_name_has_one_label_and_the_oldest_is_forgotten() {
        let names = LongNames::default();
        let first = names.label(foreign(0)).unwrap();
        assert_eq!(names.label(foreign(0)).unwrap(), first);
        assert_eq!(first.len(), 35);
        for number in 1..MOST {
            names.label(foreign(number)).unwrap();
        }
        assert_eq!(names.original(&first), Some(foreign(0)));
        let last = names.label(foreign(MOST)).unwrap();
        assert_eq!(names.original(&first), None);
        assert_eq!(names.original(&last), Some(foreign(MOST)));
        assert_eq!(names.original("nrf-n001001"), None);
    }
}
