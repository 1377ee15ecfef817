//! The runner's command line.

use std::time::Duration;

use rustls_pki_types::pem::PemObject as _;

use crate::absent;
use crate::options::{Compliance, CredentialOptions, Options};

/// The connections that a flag applies to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Initial,
    Resume,
    Retry,
}

/// The options of every connection.
#[derive(Default)]
pub struct Flags {
    initial: Options,
    resume: Options,
    retry: Options,
}

/// Why a command line can't be run.
pub enum Unusable {
    /// A feature is absent by decision.
    Absent(&'static str),
    /// The shim doesn't know the flag, or its value.
    Unknown(String),
}

impl From<String> for Unusable {
    fn from(what: String) -> Self {
        Self::Unknown(what)
    }
}

impl Flags {
    pub fn get(&self, scope: Scope) -> &Options {
        match scope {
            Scope::Initial => &self.initial,
            Scope::Resume => &self.resume,
            Scope::Retry => &self.retry,
        }
    }

    /// Reads the command line.
    pub fn parse(arguments: &[String]) -> Result<Self, Unusable> {
        // Hints are prepared by a second process, the "handshaker".
        let for_handshaker = |argument: &String| {
            argument.starts_with("-on-shim-") || argument.starts_with("-on-handshaker-")
        };
        if arguments.iter().any(for_handshaker) {
            return Err(Unusable::Absent("handshake hints"));
        }
        let mut flags = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let (scopes, name): (&[Scope], &str) =
                if let Some(name) = argument.strip_prefix("-on-initial") {
                    (&[Scope::Initial], name)
                } else if let Some(name) = argument.strip_prefix("-on-resume") {
                    (&[Scope::Resume], name)
                } else if let Some(name) = argument.strip_prefix("-on-retry") {
                    (&[Scope::Retry], name)
                } else {
                    (&[Scope::Initial, Scope::Resume, Scope::Retry], argument.as_str())
                };
            let next = rest.as_slice().first().map(String::as_str);
            if let Some(feature) = absent::feature(name, next) {
                return Err(Unusable::Absent(feature));
            }
            let mut value = Value { taken: None, rest: &mut rest };
            for scope in scopes {
                let options = match scope {
                    Scope::Initial => &mut flags.initial,
                    Scope::Resume => &mut flags.resume,
                    Scope::Retry => &mut flags.retry,
                };
                options.set(name, &mut value)?;
            }
        }
        Ok(flags)
    }
}

/// The value of a flag, taken from the command line on first use.
struct Value<'a, 'r> {
    taken: Option<&'a str>,
    rest: &'r mut std::slice::Iter<'a, String>,
}

impl<'a> Value<'a, '_> {
    fn text(&mut self) -> Result<&'a str, String> {
        if self.taken.is_none() {
            self.taken = self.rest.next().map(String::as_str);
        }
        self.taken.ok_or("a flag without its value".into())
    }

    fn number<T: std::str::FromStr>(&mut self) -> Result<T, String> {
        let text = self.text()?;
        text.parse().map_err(|_| format!("not a number: {text}"))
    }

    fn milliseconds(&mut self) -> Result<Duration, String> {
        self.number().map(Duration::from_millis)
    }

    fn bytes(&mut self) -> Result<Vec<u8>, String> {
        let text = self.text()?;
        // A PEM file is base64 between two lines.
        let pem = format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n");
        rustls_pki_types::CertificateDer::from_pem_slice(pem.as_bytes())
            .map(|der| der.to_vec())
            .map_err(|_| format!("not base64: {text}"))
    }
}

impl Options {
    /// Returns the credential that credential flags are for: the last one, or the default one.
    fn credential(&mut self) -> &mut CredentialOptions {
        self.credentials.last_mut().unwrap_or(&mut self.default_credential)
    }

    fn set(&mut self, name: &str, value: &mut Value<'_, '_>) -> Result<(), String> {
        if self.set_credential(name, value)? || self.set_expectation(name, value)? {
            return Ok(());
        }
        match name {
            "-port" => self.port = value.number()?,
            "-ipv6" => self.ipv6 = true,
            "-shim-id" => self.shim_id = value.number()?,
            "-server" => self.is_server = true,
            "-async" => self.is_async = true,
            "-dtls" => self.dtls = true,
            "-mtu" => self.mtu = Some(value.number()?),
            "-initial-timeout-duration-ms" => self.first_timeout = Some(value.milliseconds()?),
            "-private-key-delay-ms" => self.private_key_delay = value.milliseconds()?,
            "-resume-count" => self.resume_count = value.number()?,
            "-is-handshaker-supported" => self.is_handshaker_supported = true,
            "-verify-peer" => self.verify_peer = true,
            "-verify-fail" => self.verify_fail = true,
            "-accepted-peer-cert-types" => self.accepted_types.push(value.number()?),
            "-available-client-cert-types" => self.available_types.push(value.number()?),
            "-enable-ocsp-stapling" => self.ocsp_stapling = true,
            "-enable-signed-cert-timestamps" => self.signed_cert_timestamps = true,
            "-use-ocsp-callback" => self.use_ocsp_callback = true,
            "-decline-ocsp-callback" => self.decline_ocsp_callback = true,
            "-fail-ocsp-callback" => self.fail_ocsp_callback = true,
            "-install-cert-compression-algs" => self.cert_compression = true,
            "-install-one-cert-compression-alg" => {
                self.one_cert_compression = Some(value.number()?);
            }
            "-use-client-ca-list" => self.client_ca_list = names(value.text()?)?,
            "-enable-grease" => self.grease = true,
            "-use-custom-verify-callback" => self.custom_verify = true,
            "-retain-only-sha256-client-cert" => self.retain_only_hash = true,
            "-reverify-on-resume" => self.reverify_on_resume = true,
            "-require-any-client-certificate" => self.require_client_certificate = true,
            "-fips-202205" => self.compliance = Some(Compliance::Fips202205),
            "-wpa-202304" => self.compliance = Some(Compliance::Wpa202304),
            "-cnsa-202407" => self.compliance = Some(Compliance::Cnsa202407),
            "-cnsa1-202603" => self.compliance = Some(Compliance::Cnsa1),
            "-cnsa2-202603" => self.compliance = Some(Compliance::Cnsa2),
            "-curves" => self.curves.push(value.number()?),
            "-verify-prefs" => self.verify_prefs.push(value.number()?),
            "-host-name" => self.host_name = value.text()?.into(),
            "-advertise-alpn" => self.advertise_alpn = protocols(value.text()?.as_bytes()),
            "-select-alpn" => {
                let protocol = value.text()?.as_bytes().to_vec();
                self.select_alpn = Some(protocol).filter(|protocol| !protocol.is_empty());
            }
            "-decline-alpn" => self.select_alpn = None,
            "-reject-alpn" => self.reject_alpn = true,
            "-use-early-callback" => self.use_early_callback = true,
            "-no-ticket" => self.no_ticket = true,
            "-skip-ticket" => self.skip_ticket = true,
            "-enable-early-data" => self.enable_early_data = true,
            "-shim-writes-first" => self.shim_writes_first = true,
            "-shim-initial-write" => {
                self.shim_initial_write = Some(value.text()?.as_bytes().to_vec());
            }
            "-repeat-shim-initial-write" => self.repeat_initial_write = Some(value.number()?),
            "-write-different-record-sizes" => self.write_different_record_sizes = true,
            "-read-with-unfinished-write" => self.read_with_unfinished_write = true,
            "-shim-shuts-down" => self.shim_shuts_down = true,
            "-check-close-notify" => self.check_close_notify = true,
            "-key-update" => self.key_update = true,
            "-key-update-before-read" => self.key_update_before_read = true,
            "-read-size" => self.read_size = value.number()?,
            "-max-send-fragment" => self.max_send_fragment = Some(value.number()?),
            "-export-keying-material" => self.export_len = value.number()?,
            "-export-label" => self.export_label = value.text()?.into(),
            "-export-context" => self.export_context = value.text()?.into(),
            "-export-traffic-secrets" => self.export_traffic_secrets = true,
            "-resumption-delay" => self.resumption_delay = value.number()?,
            name if NOTHING_TO_DO.contains(&name) => (),
            name if NOTHING_TO_DO_WITH_VALUE.contains(&name) => drop(value.text()?),
            other => return Err(format!("unknown flag {other}")),
        }
        Ok(())
    }

    fn set_credential(&mut self, name: &str, value: &mut Value<'_, '_>) -> Result<bool, String> {
        match name {
            "-new-x509-credential" => self.credentials.push(CredentialOptions::default()),
            "-new-psk-credential" => {
                self.credentials.push(CredentialOptions { is_psk: true, ..Default::default() });
            }
            "-new-rpk-credential" => {
                let is_raw_public_key = true;
                self.credentials
                    .push(CredentialOptions { is_raw_public_key, ..Default::default() });
            }
            "-cert-file" => self.credential().cert_file = Some(value.text()?.into()),
            "-key-file" => self.credential().key_file = Some(value.text()?.into()),
            "-signing-prefs" => {
                let scheme = value.number()?;
                self.credential().signing_prefs.push(scheme);
            }
            "-ocsp-response" => self.credential().ocsp_response = Some(value.bytes()?),
            "-signed-cert-timestamps" => self.credential().sct_list = Some(value.bytes()?),
            "-must-match-issuer" => self.credential().must_match_issuer = true,
            "-psk-importer-key" => self.credential().psk = value.bytes()?,
            "-psk-importer-identity" => self.credential().psk_identity = value.bytes()?,
            "-psk-importer-context" => self.credential().psk_context = value.bytes()?,
            "-psk-importer-sha256" => self.credential().psk_is_sha384 = false,
            "-psk-importer-sha384" => self.credential().psk_is_sha384 = true,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_expectation(&mut self, name: &str, value: &mut Value<'_, '_>) -> Result<bool, String> {
        match name {
            "-expect-selected-credential" => {
                self.expect_selected_credential = Some(value.number()?);
            }
            "-expect-peer-cert-file" => self.expect_peer_cert_file = Some(value.text()?.into()),
            "-expect-no-peer-cert" => self.expect_no_peer_cert = true,
            "-expect-peer-certificate-type" => self.expect_peer_type = Some(value.number()?),
            "-expect-peer-rpk-sha256" => self.expect_peer_key_sha256 = Some(value.bytes()?),
            "-expect-ocsp-response" => self.expect_ocsp_response = Some(value.bytes()?),
            "-expect-signed-cert-timestamps" => self.expect_sct_list = Some(value.bytes()?),
            "-expect-peer-verify-pref" => self.expect_peer_verify_prefs.push(value.number()?),
            "-expect-server-name" => self.expect_server_name = Some(value.text()?.into()),
            "-expect-no-server-name" => self.expect_no_server_name = true,
            "-expect-alpn" => self.expect_alpn = Some(value.text()?.as_bytes().to_vec()),
            "-expect-advertised-alpn" => {
                self.expect_advertised_alpn = Some(protocols(value.text()?.as_bytes()));
            }
            "-expect-accept-early-data" => self.expect_accept_early_data = true,
            "-expect-reject-early-data" => self.expect_reject_early_data = true,
            "-expect-no-offer-early-data" => self.expect_no_offer_early_data = true,
            "-expect-ticket-supports-early-data" => self.expect_ticket_supports_early_data = true,
            "-expect-session-miss" => self.expect_session_miss = true,
            "-expect-no-session" => self.expect_no_session = true,
            "-expect-hrr" => self.expect_hrr = true,
            "-expect-no-hrr" => self.expect_no_hrr = true,
            "-expect-curve-id" => self.expect_curve = Some(value.number()?),
            "-expect-cipher" => self.expect_cipher = Some(value.number()?),
            "-expect-cipher-aes" => self.expect_cipher_aes = Some(value.number()?),
            "-expect-cipher-no-aes" => self.expect_cipher_no_aes = Some(value.number()?),
            "-expect-peer-signature-algorithm" => {
                self.expect_peer_signature_algorithm = Some(value.number()?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Flags for the default behaviour, or for other uses of BoringSSL's own interface.
const NOTHING_TO_DO: &[&str] = &[
    "-expect-verify-result",
    // A server's order always counts.
    "-server-preference",
    "-use-old-client-cert-callback",
    "-install-ddos-callback",
    "-set-ocsp-in-callback",
    "-use-ticket-callback",
    "-use-ticket-aead-callback",
    // TLS 1.3 has a new ticket after every handshake.
    "-renew-ticket",
    "-expect-ticket-renewal",
    // There are no session ids.
    "-expect-no-session-id",
    "-expect-sha256-client-cert",
    // TLS 1.3 doesn't distinguish an absent context from an empty one.
    "-use-export-context",
    "-use-exporter-between-reads",
    "-peek-then-read",
    "-implicit-handshake",
    "-no-op-extra-handshake",
    "-handshake-twice",
    "-no-tls1",
    "-no-tls11",
    "-no-tls12",
    "-expect-extended-master-secret",
    "-expect-no-secure-renegotiation",
    "-forbid-renegotiation-after-handshake",
    "-renegotiate-ignore",
    "-permute-extensions",
    "-partial-write",
];

const NOTHING_TO_DO_WITH_VALUE: &[&str] = &[
    // The runner's peers are verified by their signatures, not by their chains.
    "-trust-cert",
    "-min-version",
    "-max-version",
    "-expect-version",
    "-expect-early-data-reason",
];

/// Returns a list of protocols as ALPN writes it.
fn protocols(mut wire: &[u8]) -> Vec<Vec<u8>> {
    let mut listed = Vec::new();
    while let Some((&len, rest)) = wire.split_first() {
        let Some((protocol, rest)) = rest.split_at_checked(len.into()) else { break };
        listed.push(protocol.to_vec());
        wire = rest;
    }
    listed
}

/// Names in hexadecimal, with commas between them.
fn names(text: &str) -> Result<Vec<Vec<u8>>, String> {
    if matches!(text, "<NULL>" | "<EMPTY>") {
        return Ok(Vec::new());
    }
    let byte = |at: usize, name: &str| {
        let digits = name.get(at..at + 2).unwrap_or_default();
        u8::from_str_radix(digits, 16).map_err(|_| format!("not hexadecimal: {name}"))
    };
    let name = |name: &str| (0..name.len()).step_by(2).map(|at| byte(at, name)).collect();
    text.split(',').map(name).collect()
}
