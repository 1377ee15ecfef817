//! When certificates expire.

use tessera_proxy::admin::{Label, Labels};
use tessera_proxy::certificates::{CertificateEnd, CertificateKind};

use crate::config::Configuration;
use crate::n32c::{Associations, State};
use crate::tls::CertificateAge;

/// Returns those of the configuration; `functions` is when the certificate for local network functions expires.
pub(crate) fn of_files(
    configuration: &Configuration,
    ages: &[CertificateAge],
    functions: Option<u64>,
) -> Vec<CertificateEnd> {
    let of = |CertificateAge { anchor, expires_at }: &CertificateAge| match anchor {
        None => CertificateEnd {
            whose: "this SEPP's certificate".to_owned(),
            expires_at: *expires_at,
            series: vec![series("", CertificateKind::Own)],
        },
        Some(anchor) => {
            let peers = configuration.peer.values().filter(|peer| peer.anchor == *anchor);
            let of_peer = |fqdn| series(fqdn, CertificateKind::Root);
            CertificateEnd {
                whose: format!("a root of [trust.{anchor}]"),
                expires_at: *expires_at,
                series: peers.map(|peer| of_peer(peer.fqdn.as_str())).collect(),
            }
        }
    };
    let functions = functions.map(|expires_at| CertificateEnd {
        whose: "the certificate of [sbi]".to_owned(),
        expires_at,
        series: vec![series("", CertificateKind::Sbi)],
    });
    ages.iter().map(of).chain(functions).collect()
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tessera_proxy::config::Document;

    use super::of_files;

    #[test]
    fn the_certificate_for_local_functions_is_watched() {
        let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/sepp.toml");
        let configuration = Document::read(Path::new(example)).unwrap().parse().unwrap();
        let [end] = &of_files(&configuration, &[], Some(0))[..] else { panic!("one") };
        assert_eq!(end.warning().unwrap(), "the certificate of [sbi] has expired");
        assert_eq!(end.series, [[("peer", String::new()), ("cert", "sbi".to_owned())]]);
        assert!(of_files(&configuration, &[], None).is_empty());
    }
}
