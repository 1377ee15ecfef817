//! This side's own chains, by what was sent: a chain is hashed once, not in every handshake.

use alloc::collections::VecDeque;
use alloc::sync::Arc;

use tessera::auth::certificate_entries;
use tessera::crypto::Hash;
use tessera::wire::CertificateType;

use crate::bytes::Bytes;
use crate::chain_hash::ChainHash;
use crate::der::{OBJECT_IDENTIFIER, SEQUENCE, element};
use crate::lock::Lock;

/// The chains sent last.
#[derive(Default)]
pub(crate) struct OwnChains(Lock<VecDeque<OwnChain>>);

#[derive(Clone)]
struct OwnChain {
    body: Arc<[u8]>,
    chain: Option<ChainHash>,
}

/// How many are remembered.
const CHAINS: usize = 64;

impl OwnChains {
    /// Returns the hash of the chain in the body of this side's Certificate.
    pub(crate) fn hash(&self, sha256: &dyn Hash, body: &[u8]) -> Option<ChainHash> {
        if let Some(own) = self.0.lock().iter().find(|own| *own.body == *body) {
            return own.chain;
        }
        let chain = ChainHash::of_body(sha256, type_of(body), body);
        let mut own = self.0.lock();
        if own.len() == CHAINS {
            own.pop_front();
        }
        own.push_back(OwnChain { body: body.into(), chain });
        chain
    }
}

/// Detects what this body holds. A codec doesn't get the type, and need not: a SubjectPublicKeyInfo begins
/// with an AlgorithmIdentifier, which begins with an object identifier; the body of a certificate begins with
/// a version or a number.
fn type_of(body: &[u8]) -> CertificateType {
    let first = certificate_entries(body).and_then(|mut entries| entries.next());
    let inner = first.and_then(|it| element(&mut Bytes(it.certificate), SEQUENCE));
    let first = inner.and_then(|inner| element(&mut Bytes(inner), SEQUENCE));
    match first.and_then(<[u8]>::first) {
        Some(&OBJECT_IDENTIFIER) => CertificateType::RAW_PUBLIC_KEY,
        _ => CertificateType::X509,
    }
}

#[cfg(test)]
mod tests {
    use tessera::wire::CertificateType;

    use super::{ChainHash, OwnChains};

    #[test]
    fn each_chain_has_its_own_hash_however_often_it_is_asked_for() {
        let suites = tessera_aws_lc::provider().suites;
        let sha256 = suites.iter().map(|suite| suite.hash).find(|hash| hash.len() == 32);
        let sha256 = sha256.expect("SHA-256");
        // The body of a Certificate: no context, one entry without extensions.
        let body = |leaf: u8| [&[0, 0, 0, 9, 0, 0, 4][..], &[leaf; 4], &[0, 0]].concat();
        let chains = OwnChains::default();
        for leaf in [1, 2, 1, 2] {
            let expected = ChainHash::of_body(sha256, CertificateType::X509, &body(leaf));
            assert!(expected.is_some());
            assert_eq!(chains.hash(sha256, &body(leaf)), expected, "{leaf}");
        }
    }
}
