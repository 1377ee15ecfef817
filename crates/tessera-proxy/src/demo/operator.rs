//! Roaming operators, and what SEPPs' configurations have of them.

use std::fmt::Display;

use tessera_kit::ProgramError;

use super::{Authority, Files};

/// An operator with a SEPP.
#[derive(Debug, Clone, Copy)]
pub struct OperatorIdentity {
    /// The name of its files, and of its tables in the others' configurations.
    pub name: &'static str,
    /// The name of its SEPP.
    pub fqdn: &'static str,
    /// Its network.
    pub plmn: &'static str,
}

/// The operator whose network functions answer.
pub const HOME: OperatorIdentity = OperatorIdentity {
    name: "home",
    fqdn: "sepp1.5gc.mnc070.mcc999.3gppnetwork.org",
    plmn: "999-70",
};

/// The operator whose network functions ask.
pub const VISITED: OperatorIdentity = OperatorIdentity {
    name: "visited",
    fqdn: "sepp2.5gc.mnc001.mcc001.3gppnetwork.org",
    plmn: "001-01",
};

/// An operator that tries what it must not.
pub const THIRD: OperatorIdentity = OperatorIdentity {
    name: "third",
    fqdn: "sepp3.5gc.mnc410.mcc310.3gppnetwork.org",
    plmn: "310-410",
};

impl OperatorIdentity {
    /// Makes its authority, `NAME-ca.pem`, and the certificate of its SEPP with its key, `NAME.pem`.
    ///
    /// # Errors
    /// If there are no random numbers, or a file can't be written.
    pub fn certify(self, files: &Files) -> Result<(), ProgramError> {
        let Self { name, fqdn, .. } = self;
        let common_name = format!("Tessera demonstration, {name}");
        let authority = Authority::make(files, &format!("{name}-ca.pem"), &common_name)?;
        // TS 33.310 §6.1.3c: both roles.
        authority.certify(files, &format!("{name}.pem"), fqdn)
    }

    /// Returns `[listen]` and `[local]` of its SEPP. Further keys of the latter can follow.
    pub fn own(self, certificate: impl Display, [sbi, n32c, n32f]: [impl Display; 3]) -> String {
        let Self { fqdn, plmn, .. } = self;
        format!(
            "[listen]\nsbi = \"{sbi}\"\nn32c = \"{n32c}\"\nn32f = \"{n32f}\"\n\
             [local]\nfqdn = \"{fqdn}\"\nplmns = [\"{plmn}\"]\ncertificate = \"{certificate}\"\n"
        )
    }

    /// Returns `[trust.NAME]` with this file of roots. Further keys can follow.
    pub fn trust(self, roots: impl Display) -> String {
        let Self { name, plmn, .. } = self;
        format!("[trust.{name}]\nplmns = [\"{plmn}\"]\nroots = \"{roots}\"\n")
    }

    /// Returns `[peer.NAME]` without addresses. Further keys can follow.
    pub fn peer(self) -> String {
        let Self { name, fqdn, plmn } = self;
        format!("[peer.{name}]\nfqdn = \"{fqdn}\"\nplmns = [\"{plmn}\"]\nanchor = \"{name}\"\n")
    }
}
