//! When certificates end, and who is told in time.

use tessera_proxy::admin::Condition;
use tessera_proxy::certificates::ExpiryWarnings;

use crate::config::Configuration;
use crate::metrics::{Certificate, Metrics};
use crate::n32c::{Associations, State};
use crate::tls::CertificateAge;

/// What a SEPP looks at while it runs.
#[derive(Default)]
pub(super) struct CertificateAges {
    warnings: ExpiryWarnings,
}

impl CertificateAges {
    /// Sets the metrics, and warns of certificates that end soon. The own one has to be valid.
    pub(super) fn look(
        &mut self,
        configuration: &Configuration,
        ages: &[CertificateAge],
        associations: &Associations,
        metrics: &Metrics,
        valid: &Condition,
        unix: u64,
    ) {
        for age in ages {
            match &age.anchor {
                None => {
                    metrics.certificate("", Certificate::Own, age.expires_at);
                    self.warnings.look("this SEPP's certificate", age.expires_at, unix);
                    if age.expires_at > unix {
                        valid.holds();
                    } else {
                        valid.fails("this SEPP's certificate has ended");
                    }
                }
                Some(anchor) => {
                    for peer in configuration.peer.values().filter(|peer| peer.anchor == *anchor) {
                        let name = peer.fqdn.as_str();
                        metrics.certificate(name, Certificate::Root, age.expires_at);
                    }
                    self.warnings.look(
                        &format!("a root of [trust.{anchor}]"),
                        age.expires_at,
                        unix,
                    );
                }
            }
        }
        for peer in associations.peers() {
            if let State::Established(association) = &peer.state {
                let expires_at = association.certificate.expires_at;
                metrics.certificate(peer.fqdn.as_str(), Certificate::Leaf, expires_at);
                self.warnings.look(&format!("the certificate of {}", peer.fqdn), expires_at, unix);
            }
        }
    }
}
