//! The digest that names an association.

use tessera::wire::CipherSuite;

use super::Association;
use super::settings::LocalSettings;
use crate::identity::AssociationId;

impl AssociationId {
    /// Computes the digest of what was agreed, after this number of terminations.
    pub(super) fn of(local: &LocalSettings, agreed: &Association, terminations: u64) -> Self {
        let mut digest = Input(b"tessera n32 association 1".to_vec());
        let own_ports: Vec<_> = local.n32f_port.into_iter().collect();
        let mut sides = [
            (&local.fqdn, &local.plmns, &local.fqdn, &own_ports),
            (&agreed.peer, &agreed.plmns, &agreed.n32f_fqdn, &agreed.n32f_ports),
        ];
        sides.sort_by_key(|(fqdn, ..)| *fqdn);
        for (fqdn, plmns, n32f_fqdn, n32f_ports) in sides {
            digest.add(fqdn.as_str().as_bytes());
            digest.add(&plmns.iter().flat_map(|plmn| plmn.to_octets()).collect::<Vec<_>>());
            digest.add(n32f_fqdn.as_str().as_bytes());
            digest.add(&n32f_ports.iter().flat_map(|port| port.to_be_bytes()).collect::<Vec<_>>());
        }
        digest.add(&[u8::from(agreed.target_api_root)]);
        digest.add(agreed.features.to_string().as_bytes());
        digest.add(&[u8::from(agreed.purposes.is_some())]);
        for purpose in agreed.purposes.iter().flatten() {
            digest.add(purpose.as_str().as_bytes());
        }
        digest.add(&terminations.to_be_bytes());
        digest.id()
    }
}

/// The input of the digest: each part, preceded by its length.
struct Input(Vec<u8>);

impl Input {
    fn add(&mut self, part: &[u8]) {
        self.0.extend((part.len() as u64).to_be_bytes());
        self.0.extend(part);
    }

    fn id(&self) -> AssociationId {
        let mut id = [0; 16];
        let provider = tessera_aws_lc::provider();
        if let Some(suite) = provider.suite(CipherSuite::TLS_AES_128_GCM_SHA256) {
            let digest = suite.hash.hash(&self.0);
            for (octet, digest) in id.iter_mut().zip(digest.as_ref()) {
                *octet = *digest;
            }
        }
        AssociationId(id)
    }
}
