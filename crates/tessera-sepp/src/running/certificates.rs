//! When certificates expire.

use tessera_proxy::admin::{Label, Labels};
use tessera_proxy::certificates::{CertificateEnd, CertificateKind};

use crate::config::Configuration;
use crate::n32c::{Associations, State};
use crate::tls::CertificateAge;

/// Returns those of the configuration.
pub(crate) fn of_files(
    configuration: &Configuration,
    ages: Vec<CertificateAge>,
) -> Vec<CertificateEnd> {
    let of = |CertificateAge { anchor, expires_at }: CertificateAge| match anchor {
        None => CertificateEnd {
            whose: "this SEPP's certificate".to_owned(),
            expires_at,
            series: vec![series("", CertificateKind::Own)],
        },
        Some(anchor) => {
            let peers = configuration.peer.values().filter(|peer| peer.anchor == anchor);
            let of_peer = |fqdn| series(fqdn, CertificateKind::Root);
            CertificateEnd {
                whose: format!("a root of [trust.{anchor}]"),
                expires_at,
                series: peers.map(|peer| of_peer(peer.fqdn.as_str())).collect(),
            }
        }
    };
    ages.into_iter().map(of).collect()
}

/// Returns those that peers have shown.
pub(super) fn of_peers(associations: &Associations) -> impl Iterator<Item = CertificateEnd> {
    associations.peers().into_iter().filter_map(|peer| {
        let State::Established(association) = &peer.state else { return None };
        Some(CertificateEnd {
            whose: format!("the certificate of {}", peer.fqdn),
            expires_at: association.certificate.expires_at,
            series: vec![series(peer.fqdn.as_str(), CertificateKind::Leaf)],
        })
    })
}

fn series(peer: &str, kind: CertificateKind) -> Labels {
    vec![("peer", peer.to_owned()), (CertificateKind::KEY, kind.name().to_owned())]
}
