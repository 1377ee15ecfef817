//! X.509 certificates or raw public keys (RFC 7250), for each side on its own.

use crate::error::{Error, protocol, require};
use crate::wire::{AlertDescription, CertificateType};

/// The types that a handshake agreed on.
#[derive(Clone, Copy)]
pub(crate) struct AgreedTypes {
    pub(crate) client: CertificateType,
    pub(crate) server: CertificateType,
}

impl AgreedTypes {
    /// Interprets the server's answers for a client that offered these types. No answer means X.509. A
    /// client that doesn't accept the server's type ends the handshake, unless it resumes; one that
    /// has no certificate of its own type sends none.
    pub(crate) fn answered(
        [client, server]: [Option<CertificateType>; 2],
        offered_for_client: &[CertificateType],
        accepted_of_server: &[CertificateType],
        resumes: bool,
    ) -> Result<Self, Error> {
        let unknown_client = client.is_some_and(|typ| !offered_for_client.contains(&typ));
        let agreed = Self {
            client: client.unwrap_or(CertificateType::X509),
            server: server.unwrap_or(CertificateType::X509),
        };
        let matters = server.is_some() || !resumes;
        if unknown_client || matters && !accepted_of_server.contains(&agreed.server) {
            return Err(NO_COMMON_TYPE);
        }
        Ok(agreed)
    }
}

/// RFC 7250 §4.2.
pub(crate) const NO_COMMON_TYPE: Error = protocol(
    AlertDescription::UNSUPPORTED_CERTIFICATE,
    "the sides have no certificate type in common",
);

/// Checks what types can't.
pub(super) fn check_types(types: &[CertificateType]) -> Result<(), Error> {
    let known = |typ: &CertificateType| {
        matches!(*typ, CertificateType::X509 | CertificateType::RAW_PUBLIC_KEY)
    };
    let is_list = (1..=2).contains(&types.len()) && types.iter().all(known);
    require(is_list, "certificate_types: X509, RAW_PUBLIC_KEY or both")
}
