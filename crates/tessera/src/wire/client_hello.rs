//! ClientHello (RFC 8446 §4.1.2), read in place.

use super::certificate_criteria::CertificateCriteria;
use super::certificate_type::CertificateTypes;
use super::code_points::{CipherSuite, ExtensionType, HandshakeType, NamedGroup, ProtocolVersion};
use super::distinct::Distinct;
use super::entry_extensions::read_status_request;
use super::extensions::{Extensions, read_extensions};
use super::key_share::KeyShares;
use super::pre_shared_key::{OfferedPsks, PskModes};
use super::protocols::Protocols;
use super::reader::{CodePoints, Reader};
use super::server_name::read_server_name;
use super::small_extensions::SmallExtensions;
use super::versions::Versions;
use crate::alert::AlertDescription;
use crate::error::{Error, decode_error, illegal_parameter, protocol};

/// A ClientHello of TLS 1.3.
pub struct ClientHello<'a> {
    /// client_random.
    pub random: &'a [u8; 32],
    /// legacy_session_id, to be echoed.
    pub session_id: &'a [u8],
    /// The suites in the client's order.
    pub cipher_suites: CodePoints<'a>,
    /// All extensions, as sent.
    pub extensions: Extensions<'a>,
    /// The extensions that are one small value each.
    pub small: SmallExtensions,
    /// server_name: the host name.
    pub server_name: Option<&'a str>,
    /// supported_groups.
    pub supported_groups: Option<CodePoints<'a>>,
    /// Which certificates the client accepts, and in which form.
    pub certificates: CertificateCriteria<'a>,
    /// client_certificate_type: what the client can present.
    pub client_certificate_types: Option<CertificateTypes<'a>>,
    /// server_certificate_type: what the client accepts.
    pub server_certificate_types: Option<CertificateTypes<'a>>,
    /// application_layer_protocol_negotiation.
    pub protocols: Option<Protocols<'a>>,
    /// key_share.
    pub key_shares: Option<KeyShares<'a>>,
    /// psk_key_exchange_modes.
    pub psk_modes: Option<PskModes>,
    /// pre_shared_key.
    pub psks: Option<OfferedPsks<'a>>,
    /// early_data.
    pub early_data: bool,
    /// cookie.
    pub cookie: Option<&'a [u8]>,
}

impl<'a> ClientHello<'a> {
    /// Reads the body of the message and makes every check that needs no configuration.
    pub fn read(mut reader: Reader<'a>, known: &Versions) -> Result<Self, Error> {
        let legacy_version = ProtocolVersion(reader.u16()?);
        let random = reader.array()?;
        let session_id = reader.vec8()?;
        if session_id.len() > 32 {
            return Err(decode_error("legacy_session_id is longer than 32 bytes"));
        }
        // RFC 9147 §5.3: empty in DTLS 1.3.
        let has_legacy_cookie = known.has_legacy_cookie() && !reader.vec8()?.is_empty();
        let cipher_suites = CodePoints::new(reader.vec16()?)?;
        let compression = reader.vec8()?;
        if compression.is_empty() {
            return Err(decode_error("legacy_compression_methods is empty"));
        }
        let mut hello = Self {
            random,
            session_id,
            cipher_suites,
            extensions: Extensions::at(reader),
            small: SmallExtensions::default(),
            server_name: None,
            supported_groups: None,
            certificates: CertificateCriteria::default(),
            client_certificate_types: None,
            server_certificate_types: None,
            protocols: None,
            key_shares: None,
            psk_modes: None,
            psks: None,
            early_data: false,
            cookie: None,
        };
        let mut versions = None;
        if !reader.is_empty() {
            read_extensions(&mut reader, |typ, body| {
                hello.read_extension(typ, body, &mut versions)
            })?;
        }
        reader.finish()?;

        // Only TLS 1.3 is implemented: a client that doesn't offer it gets protocol_version.
        let offers_1_3 = versions.is_some_and(|v: CodePoints<'_>| v.contains(known.selected.0));
        if !offers_1_3 || known.refuse(legacy_version) {
            return Err(protocol(
                AlertDescription::PROTOCOL_VERSION,
                "the client offers no TLS 1.3",
            ));
        }
        if has_legacy_cookie {
            return Err(illegal_parameter("legacy_cookie is not empty"));
        }
        if compression != [0] {
            return Err(illegal_parameter("legacy_compression_methods is not just null"));
        }
        hello.check_combinations()?;
        Ok(hello)
    }

    fn read_extension(
        &mut self,
        typ: ExtensionType,
        mut body: Reader<'a>,
        versions: &mut Option<CodePoints<'a>>,
    ) -> Result<(), Error> {
        if self.psks.is_some() {
            return Err(illegal_parameter("pre_shared_key is not the last extension"));
        }
        match typ {
            ExtensionType::SERVER_NAME => self.server_name = read_server_name(body)?,
            ExtensionType::SUPPORTED_GROUPS => {
                self.supported_groups = Some(CodePoints::new(whole(body, Reader::vec16)?)?);
            }
            ExtensionType::CLIENT_CERTIFICATE_TYPE => {
                self.client_certificate_types = Some(CertificateTypes::read(body)?);
            }
            ExtensionType::SERVER_CERTIFICATE_TYPE => {
                self.server_certificate_types = Some(CertificateTypes::read(body)?);
            }
            ExtensionType::ALPN => self.protocols = Some(Protocols::read(body)?),
            ExtensionType::SUPPORTED_VERSIONS => {
                *versions = Some(CodePoints::new(whole(body, Reader::vec8)?)?);
            }
            ExtensionType::KEY_SHARE => self.key_shares = Some(KeyShares::read(body)?),
            ExtensionType::PSK_KEY_EXCHANGE_MODES => self.psk_modes = Some(PskModes::read(body)?),
            ExtensionType::PRE_SHARED_KEY => self.psks = Some(OfferedPsks::read(body)?),
            ExtensionType::EARLY_DATA => {
                body.rest().is_empty().then_some(()).ok_or(NOT_EMPTY)?;
                self.early_data = true;
            }
            ExtensionType::COOKIE => {
                let cookie = whole(body, Reader::vec16)?;
                if cookie.is_empty() {
                    return Err(decode_error("the cookie is empty"));
                }
                self.cookie = Some(cookie);
            }
            ExtensionType::STATUS_REQUEST => {
                self.certificates.entry_extensions.status_request = read_status_request(body)?;
            }
            // A server without the feature must not interpret these private-use types; `ForwardSecretOffer` does.
            ExtensionType::FORWARD_SECRET_EARLY_DATA | ExtensionType::FORWARD_SECRET_RECEIPTS => (),
            // With contents this private-use type isn't ours.
            ExtensionType::EARLY_RECORDS if !body.is_empty() => (),
            _ => {
                if !self.small.read(HandshakeType::CLIENT_HELLO, typ, body)? {
                    self.certificates.read(typ, body)?;
                }
            }
        }
        Ok(())
    }

    /// Checks which extensions require others: RFC 8446 §9.2, §4.2.9 and §4.2.10.
    fn check_combinations(&self) -> Result<(), Error> {
        let missing = |reason| Err(protocol(AlertDescription::MISSING_EXTENSION, reason));
        if self.psks.is_some() && self.psk_modes.is_none() {
            return missing("pre_shared_key without psk_key_exchange_modes");
        }
        if self.psks.is_none()
            && (self.certificates.signature_algorithms.is_none() || self.supported_groups.is_none())
        {
            return missing(
                "neither pre_shared_key nor signature_algorithms with supported_groups",
            );
        }
        // RFC 6066 §4, RFC 8449 §5.
        if let Some(fragment) = self.small.max_fragment_length
            && !fragment.is_known()
            && self.small.record_size_limit.is_none()
        {
            return Err(illegal_parameter("max_fragment_length has no known value"));
        }
        if self.supported_groups.is_some() != self.key_shares.is_some() {
            return missing("supported_groups and key_share come together or not at all");
        }
        if let (Some(groups), Some(shares)) = (self.supported_groups, self.key_shares) {
            // §4.2.8: each share is for a supported group. Their order is not enforced:
            // rustls sends the share that worked last time first, wherever its list has it.
            let mut supported = Distinct::default();
            groups.iter().for_each(|group| {
                supported.insert(group);
            });
            if !shares.iter().all(|share| supported.contains(share.group.0)) {
                return Err(illegal_parameter("a key share for a group that is not supported"));
            }
        }
        Ok(())
    }

    /// Returns whether the client offers the suite.
    pub fn offers_suite(&self, suite: CipherSuite) -> bool {
        self.cipher_suites.contains(suite.0)
    }

    /// Returns whether the client supports the group.
    pub fn supports_group(&self, group: NamedGroup) -> bool {
        self.supported_groups.is_some_and(|groups| groups.contains(group.0))
    }
}

const NOT_EMPTY: Error = decode_error("an extension that must be empty is not");

/// Reads a vector that is the extension's whole contents.
pub(super) fn whole<'a>(
    mut body: Reader<'a>,
    vector: impl FnOnce(&mut Reader<'a>) -> Result<&'a [u8], Error>,
) -> Result<&'a [u8], Error> {
    let contents = vector(&mut body)?;
    body.finish()?;
    Ok(contents)
}
