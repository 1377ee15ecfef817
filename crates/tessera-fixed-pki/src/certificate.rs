//! A certificate, read in place (RFC 5280 §4.1).

use crate::defect::Defect;
use crate::der::{Elements, Tag, explicit, only};
use crate::time::Validity;

/// The parts of a certificate that decide.
#[derive(Clone, Copy)]
pub(crate) struct Certificate<'a> {
    /// What is signed: the whole TBSCertificate.
    pub(crate) signed: &'a [u8],
    /// The contents of the AlgorithmIdentifier of the signature.
    pub(crate) algorithm: &'a [u8],
    pub(crate) signature: &'a [u8],
    /// The contents of its Name.
    pub(crate) issuer: &'a [u8],
    pub(crate) validity: Validity,
    /// The contents of its Name.
    pub(crate) subject: &'a [u8],
    /// The whole SubjectPublicKeyInfo.
    pub(crate) public_key: &'a [u8],
    pub(crate) extensions: Extensions<'a>,
}

/// The extensions that this crate knows.
#[derive(Clone, Copy, Default)]
pub(crate) struct Extensions<'a> {
    /// cA of basicConstraints.
    pub(crate) is_authority: bool,
    /// pathLenConstraint of basicConstraints.
    pub(crate) path_len: Option<u8>,
    /// The first bits of keyUsage, digitalSignature the highest.
    key_usage: Option<u8>,
    /// The contents of the list of extKeyUsage.
    purposes: Option<&'a [u8]>,
    /// The contents of the list of subjectAltName.
    pub(crate) names: Option<&'a [u8]>,
}

const VERSION: Tag = explicit(0);
const EXTENSIONS: Tag = explicit(3);

/// Version 3 as an INTEGER's contents.
const VERSION_3: &[u8] = &[2];

/// Bits of keyUsage (RFC 5280 §4.2.1.3).
const DIGITAL_SIGNATURE: u8 = 0x80;
#[cfg(feature = "kems")]
const KEY_ENCIPHERMENT: u8 = 0x20;
const KEY_CERT_SIGN: u8 = 0x04;

/// What the key of an end entity does in a handshake.
#[derive(Clone, Copy)]
pub(crate) enum KeyUse {
    /// It signs CertificateVerify (RFC 8446 §4.4.2.2).
    Signing,
    /// It decapsulates (RFC 9935 §5).
    #[cfg(feature = "kems")]
    Decapsulation,
}

impl<'a> Certificate<'a> {
    pub(crate) fn read(der: &'a [u8]) -> Result<Self, Defect> {
        let mut certificate = Elements::new(only(der, Tag::Sequence)?);
        let (signed, contents) = certificate.expect_whole(Tag::Sequence)?;
        let algorithm = certificate.expect(Tag::Sequence)?;
        let signature = certificate.bytes()?;
        certificate.end()?;

        let mut fields = Elements::new(contents);
        // Version 1 has none.
        let version = fields.expect(VERSION).map_err(|_| Defect::Version)?;
        if only(version, Tag::Integer)? != VERSION_3 {
            return Err(Defect::Version);
        }
        let _serial_number = fields.expect(Tag::Integer)?;
        if fields.expect(Tag::Sequence)? != algorithm {
            return Err(Defect::AlgorithmsDiffer);
        }
        let issuer = fields.expect(Tag::Sequence)?;
        let validity = fields.expect(Tag::Sequence)?;
        let subject = fields.expect(Tag::Sequence)?;
        let (public_key, _) = fields.expect_whole(Tag::Sequence)?;
        // RFC 5280 §4.1.2.8: no authority issues certificates with unique identifiers, which would come first.
        let extensions = match fields.is_empty() {
            true => Extensions::default(),
            false => Extensions::read(only(fields.expect(EXTENSIONS)?, Tag::Sequence)?)?,
        };
        fields.end()?;
        let validity = Validity::read(validity)?;
        Ok(Self { signed, algorithm, signature, issuer, validity, subject, public_key, extensions })
    }
}

impl<'a> Extensions<'a> {
    fn read(contents: &'a [u8]) -> Result<Self, Defect> {
        let mut read = Self::default();
        let mut list = Elements::new(contents);
        while !list.is_empty() {
            let mut extension = Elements::new(list.expect(Tag::Sequence)?);
            let id = extension.expect(Tag::ObjectIdentifier)?;
            let is_critical = extension.flag()?;
            let value = extension.expect(Tag::OctetString)?;
            extension.end()?;
            if is_listed(list, id)? {
                return Err(Defect::DuplicateExtension);
            }
            match id {
                KEY_USAGE => read.key_usage = Some(key_usage(value)?),
                SUBJECT_ALT_NAME => read.names = Some(only(value, Tag::Sequence)?),
                BASIC_CONSTRAINTS => read.set_constraints(only(value, Tag::Sequence)?)?,
                EXTENDED_KEY_USAGE => read.purposes = Some(only(value, Tag::Sequence)?),
                // Critical or not, they would have to be obeyed.
                NAME_CONSTRAINTS => return Err(Defect::NameConstraints),
                _ if is_critical => return Err(Defect::CriticalExtension),
                // Ignored, but webpki refuses them with another type.
                CRL_DISTRIBUTION_POINTS => drop(only(value, Tag::Sequence)?),
                SCT_LIST => drop(only(value, Tag::OctetString)?),
                _ => (),
            }
        }
        Ok(read)
    }

    /// Reads the contents of BasicConstraints (RFC 5280 §4.2.1.9).
    fn set_constraints(&mut self, contents: &[u8]) -> Result<(), Defect> {
        let mut fields = Elements::new(contents);
        self.is_authority = fields.flag()?;
        self.path_len = match fields.optional(Tag::Integer)? {
            None => None,
            // Positive, and as short as can be (X.690 §8.3.2).
            Some([len @ ..=0x7f] | [0, len @ 0x80..=0xff]) => Some(*len),
            Some(_) => return Err(Defect::Malformed),
        };
        fields.end()
    }

    /// Checks what every certificate of a path must be, apart from its dates. `below` is the number of authorities below
    /// an issuer; `None` for the end entity.
    pub(crate) fn check(&self, below: Option<usize>, purpose: &[u8]) -> Result<(), Defect> {
        match below {
            None if self.is_authority => return Err(Defect::IsAuthority),
            None => (),
            Some(_) if !self.is_authority => return Err(Defect::NotAuthority),
            Some(below) if self.path_len.is_some_and(|most| below > usize::from(most)) => {
                return Err(Defect::PathLength);
            }
            Some(_) if !self.allows(KEY_CERT_SIGN) => return Err(Defect::IssuerKeyUsage),
            Some(_) => (),
        }
        self.check_purpose(purpose)
    }

    /// Whether this may be an issuer's certificate.
    pub(crate) fn may_issue(&self) -> bool {
        self.is_authority && self.allows(KEY_CERT_SIGN)
    }

    /// Checks that the key may do this: if there is a key usage, it must include the bit for it.
    pub(crate) fn check_use(&self, key_use: KeyUse) -> Result<(), Defect> {
        let (bit, defect) = match key_use {
            KeyUse::Signing => (DIGITAL_SIGNATURE, Defect::KeyUsage),
            #[cfg(feature = "kems")]
            KeyUse::Decapsulation => (KEY_ENCIPHERMENT, Defect::KemKeyUsage),
        };
        if self.allows(bit) { Ok(()) } else { Err(defect) }
    }

    fn allows(&self, usage: u8) -> bool {
        self.key_usage.is_none_or(|bits| bits & usage != 0)
    }

    /// Checks the extended key usage, if there is one (RFC 5280 §4.2.1.12): it restricts issuers, too. anyExtendedKeyUsage
    /// doesn't count.
    pub(crate) fn check_purpose(&self, purpose: &[u8]) -> Result<(), Defect> {
        let Some(purposes) = self.purposes else { return Ok(()) };
        let mut list = Elements::new(purposes);
        let mut is_found = false;
        while !list.is_empty() {
            is_found |= list.expect(Tag::ObjectIdentifier)? == purpose;
        }
        if is_found { Ok(()) } else { Err(Defect::ExtendedKeyUsage) }
    }
}

/// Whether an extension has this identifier.
fn is_listed(mut list: Elements<'_>, id: &[u8]) -> Result<bool, Defect> {
    while !list.is_empty() {
        if Elements::new(list.expect(Tag::Sequence)?).expect(Tag::ObjectIdentifier)? == id {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Reads a KeyUsage: a BIT STRING; returns its first byte. X.690 §11.2.1: its unused bits are zero.
fn key_usage(value: &[u8]) -> Result<u8, Defect> {
    match only(value, Tag::BitString)? {
        [0] => Ok(0),
        [unused @ 0..=7, bits @ .., last] if last.trailing_zeros() >= u32::from(*unused) => {
            Ok(*bits.first().unwrap_or(last))
        }
        _ => Err(Defect::Malformed),
    }
}

/// Identifiers of extensions: id-ce (2.5.29) and a number.
const KEY_USAGE: &[u8] = &[0x55, 0x1d, 15];
const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 17];
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 19];
const NAME_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 30];
const CRL_DISTRIBUTION_POINTS: &[u8] = &[0x55, 0x1d, 31];
const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 37];

/// 1.3.6.1.4.1.11129.2.4.2 (RFC 6962 §3.3).
const SCT_LIST: &[u8] = &[0x2b, 6, 1, 4, 1, 0xd6, 0x79, 2, 4, 2];
