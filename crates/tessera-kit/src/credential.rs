//! A certificate and its key.

use std::sync::Arc;

use pki_types::{CertificateDer, UnixTime};
use tessera::Role;
use tessera::auth::{Credential, PrivateKey};
use tessera::wire::CipherSuite;
use webpki::{EndEntityCert, KeyUsage};

use crate::error::ProgramError;
use crate::pem::AnyPrivateKey;
use crate::setting::SettingFile;
use crate::{hex, pem};

/// Loads a certificate chain, the end entity first, and its private key, which signs. Checks that they match, that each
/// certificate is followed by its issuer's, and that the first one is valid now. Both may be in the same
/// file.
///
/// # Errors
/// Returns an error if one of them can't be loaded, the key doesn't match or is one of a KEM, the chain is out of
/// order, or the first certificate has expired or isn't valid yet.
pub fn load(
    certificate: SettingFile<'_>,
    key_file: SettingFile<'_>,
) -> Result<Credential, ProgramError> {
    let credential = load_any(certificate, key_file)?;
    match credential.key {
        PrivateKey::Decapsulates(_) => Err(pem::does_not_sign(key_file)),
        _ => Ok(credential),
    }
}

/// Loads a certificate chain and its private key as [`load`], or one with a key of a KEM, for KEM authentication
/// (docs/kem-auth.md).
///
/// # Errors
/// The same as those of [`load`], but for keys of KEMs.
pub fn load_any(
    certificate: SettingFile<'_>,
    key_file: SettingFile<'_>,
) -> Result<Credential, ProgramError> {
    let chain = pem::certificates(certificate)?;
    let key = pem::any_private_key(key_file)?;

    let first = chain.first().map(Vec::as_slice).unwrap_or_default();
    let first = CertificateDer::from(first);
    let end_entity = end_entity(certificate, &first)?;
    // RFC 5280 §4.1: a SubjectPublicKeyInfo ends with the key.
    let public_key = match &key {
        AnyPrivateKey::Signing(key) => key.public_key(),
        AnyPrivateKey::Kem(key) => key.public_key(),
    };
    if !end_entity.subject_public_key_info().as_ref().ends_with(public_key) {
        return Err(ProgramError::in_file(
            key_file.path,
            format_args!(
                "the private key belongs to another certificate than the first one of {}; the end \
                 entity's certificate comes first; check the paths after {} and {}",
                certificate.path.display(),
                certificate.setting,
                key_file.setting
            ),
        ));
    }
    check_chain(certificate, &chain, &end_entity)?;
    let key = match key {
        AnyPrivateKey::Signing(key) => PrivateKey::Signs(Arc::new(key)),
        AnyPrivateKey::Kem(key) => PrivateKey::Decapsulates(Arc::new(key)),
    };
    Ok(Credential::new(chain, key))
}

/// Loads a certificate chain whose private key is elsewhere, with the checks of [`load`] but that of the key.
///
/// # Errors
/// The same as those of [`load`], but for the key.
pub fn chain(certificate: SettingFile<'_>) -> Result<Vec<Vec<u8>>, ProgramError> {
    let chain = pem::certificates(certificate)?;
    let first = chain.first().map(Vec::as_slice).unwrap_or_default();
    let first = CertificateDer::from(first);
    check_chain(certificate, &chain, &end_entity(certificate, &first)?)?;
    Ok(chain)
}

fn end_entity<'a>(
    file: SettingFile<'_>,
    first: &'a CertificateDer<'a>,
) -> Result<EndEntityCert<'a>, ProgramError> {
    EndEntityCert::try_from(first).map_err(|_| {
        ProgramError::in_file(
            file.path,
            format_args!(
                "the first certificate is malformed; check the path after {} (openssl x509 -noout -text -in FILE shows \
                 a certificate)",
                file.setting
            ),
        )
    })
}

/// Checks the order of a chain, and that its first certificate is valid now.
fn check_chain(
    file: SettingFile<'_>,
    chain: &[Vec<u8>],
    end_entity: &EndEntityCert<'_>,
) -> Result<(), ProgramError> {
    check_order(chain).map_err(|at| {
        ProgramError::in_file(
            file.path,
            format_args!(
                "certificate {} is not the issuer of certificate {at}; the server's or client's own comes \
                 first, and then each one's issuer",
                at + 1
            ),
        )
    })?;
    check_validity(end_entity).map_err(|what| ProgramError::in_file(file.path, what))
}

/// Checks that each certificate certifies the one before it, as it should (RFC 8446 §4.4.2). The error is
/// the position, counted from 1, of the first one that the next one doesn't certify.
fn check_order(chain: &[Vec<u8>]) -> Result<(), usize> {
    for (at, pair) in chain.windows(2).enumerate() {
        let [one, next] = pair else { continue };
        let (one, next) =
            (CertificateDer::from(one.as_slice()), CertificateDer::from(next.as_slice()));
        // Accept certificates that webpki can't parse, such as roots of version 1, in any position.
        let (Ok(one), Ok(next)) = (EndEntityCert::try_from(&one), EndEntityCert::try_from(&next))
        else {
            continue;
        };
        if one.issuer() != next.subject() {
            return Err(at + 1);
        }
    }
    Ok(())
}

/// Reports webpki's verdict on the validity, which it checks before anything else.
fn check_validity(certificate: &EndEntityCert<'_>) -> Result<(), String> {
    let usage = KeyUsage::server_auth();
    let days =
        |time: UnixTime, other: UnixTime| match time.as_secs().abs_diff(other.as_secs()) / 86_400 {
            0 => "less than a day".to_owned(),
            1 => "a day".to_owned(),
            days => format!("{days} days"),
        };
    match certificate.verify_for_usage(&[], &[], &[], UnixTime::now(), usage, None, None) {
        Err(webpki::Error::CertExpired { time, not_after }) => Err(format!(
            "the first certificate has expired, {} ago; renew it, or correct this machine's clock",
            days(time, not_after)
        )),
        Err(webpki::Error::CertNotValidYet { time, not_before }) => Err(format!(
            "the first certificate is not valid yet, and becomes so in {}; wait, or correct this machine's clock",
            days(time, not_before)
        )),
        Err(webpki::Error::InvalidCertValidity) => {
            Err("the first certificate expires before it becomes valid; have it issued again"
                .into())
        }
        _ => Ok(()),
    }
}

/// Returns why a verifier that trusts the issuing authority refuses this certificate for a peer in `role`;
/// `None` if no reason is visible. A verifier that knows the certificate by its fingerprint accepts it
/// nevertheless. A self-issued certificate is an anchor itself, and accepted as it is.
#[must_use]
pub fn why_authorities_do_not_help(certificate: &[u8], role: Role) -> Option<&'static str> {
    let der = CertificateDer::from(certificate);
    let certificate = EndEntityCert::try_from(&der).ok()?;
    if certificate.issuer() == certificate.subject() {
        return None;
    }
    let (usage, other_use) = match role {
        Role::Server => (
            KeyUsage::server_auth(),
            "its extendedKeyUsage lacks serverAuth; have it issued again, with serverAuth or without extendedKeyUsage",
        ),
        Role::Client => (
            KeyUsage::client_auth(),
            "its extendedKeyUsage lacks clientAuth; have it issued again, with clientAuth or without extendedKeyUsage",
        ),
    };
    // webpki looks for an authority after all other checks.
    match certificate.verify_for_usage(&[], &[], &[], UnixTime::now(), usage, None, None) {
        Err(webpki::Error::CaUsedAsEndEntity) => Some(
            "it is an authority's own; have it issued again, with basicConstraints=critical,CA:FALSE",
        ),
        Err(webpki::Error::EmptyEkuExtension | webpki::Error::RequiredEkuNotFoundContext(_)) => {
            Some(other_use)
        }
        _ => None,
    }
}

/// Returns whether this certificate, used as a root, only admits its own peer: another one issued it, and it
/// is not an authority's (RFC 5280 §4.2.1.9).
#[must_use]
pub fn vouches_for_itself_alone(certificate: &[u8]) -> bool {
    let der = CertificateDer::from(certificate);
    let Ok(certificate) = EndEntityCert::try_from(&der) else { return false };
    let usage = KeyUsage::server_auth();
    let judged = certificate.verify_for_usage(&[], &[], &[], UnixTime::now(), usage, None, None);
    // webpki checks validity first, and then whether it is an authority's.
    let may_be_authority = matches!(
        judged,
        Err(webpki::Error::CaUsedAsEndEntity
            | webpki::Error::CertExpired { .. }
            | webpki::Error::CertNotValidYet { .. }
            | webpki::Error::InvalidCertValidity)
    );
    certificate.issuer() != certificate.subject() && !may_be_authority
}

/// Returns the SHA-256 of a certificate in hexadecimal, for comparison by people.
#[must_use]
pub fn fingerprint(der: &[u8]) -> String {
    let provider = tessera_aws_lc::provider();
    let suite = provider.suite(CipherSuite::TLS_AES_128_GCM_SHA256);
    suite.map(|suite| hex::encode(suite.hash.hash(der).as_ref())).unwrap_or_default()
}
