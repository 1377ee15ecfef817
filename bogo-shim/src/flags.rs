//! The runner's command line.

/// What one connection is to do and to expect.
#[derive(Clone, Default)]
pub struct Options {
    pub port: u16,
    pub ipv6: bool,
    pub shim_id: u64,
    pub is_server: bool,
    pub resume_count: usize,
    pub is_handshaker_supported: bool,
    pub cert_file: Option<String>,
    pub key_file: Option<String>,
    pub verify_peer: bool,
    pub verify_fail: bool,
    pub require_client_certificate: bool,
    pub curves: Vec<u16>,
    pub signing_prefs: Vec<u16>,
    pub verify_prefs: Vec<u16>,
    pub host_name: String,
    pub expect_server_name: Option<String>,
    pub advertise_alpn: Vec<Vec<u8>>,
    pub select_alpn: Option<Vec<u8>>,
    pub expect_alpn: Option<Vec<u8>>,
    pub no_ticket: bool,
    pub enable_early_data: bool,
    pub expect_accept_early_data: bool,
    pub expect_reject_early_data: bool,
    pub expect_no_offer_early_data: bool,
    pub expect_ticket_supports_early_data: bool,
    pub expect_session_miss: bool,
    pub expect_no_session: bool,
    pub expect_hrr: bool,
    pub expect_no_hrr: bool,
    pub expect_curve: Option<u16>,
    pub expect_cipher: Option<u16>,
    pub expect_peer_signature_algorithm: Option<u16>,
    pub shim_writes_first: bool,
    pub shim_initial_write: Option<Vec<u8>>,
    pub shim_shuts_down: bool,
    pub check_close_notify: bool,
    pub key_update: bool,
    pub read_size: usize,
    pub export_len: usize,
    pub export_label: String,
    pub export_context: String,
    pub resumption_delay: u64,
    pub psk: Option<String>,
    pub psk_identity: Option<String>,
}

/// Which connections a flag is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Initial,
    Resume,
    Retry,
}

/// The options of every connection.
pub struct Flags {
    initial: Options,
    resume: Options,
    retry: Options,
}

const TLS1_3: u16 = 0x0304;

impl Flags {
    pub fn get(&self, scope: Scope) -> &Options {
        match scope {
            Scope::Initial => &self.initial,
            Scope::Resume => &self.resume,
            Scope::Retry => &self.retry,
        }
    }

    /// Reads the command line; an error names what isn't implemented.
    pub fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut flags = Self {
            initial: Options::default(),
            resume: Options::default(),
            retry: Options::default(),
        };
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
            let mut value = None;
            for scope in scopes {
                let options = match scope {
                    Scope::Initial => &mut flags.initial,
                    Scope::Resume => &mut flags.resume,
                    Scope::Retry => &mut flags.retry,
                };
                options.set(name, &mut value, &mut rest)?;
            }
        }
        Ok(flags)
    }
}

impl Options {
    /// Sets one flag; its value is taken from the command line the first time.
    fn set<'a>(
        &mut self,
        name: &str,
        value: &mut Option<&'a String>,
        rest: &mut std::slice::Iter<'a, String>,
    ) -> Result<(), String> {
        let mut text = || -> Result<&'a str, String> {
            if value.is_none() {
                *value = rest.next();
            }
            value.map(String::as_str).ok_or(format!("{name} without a value"))
        };
        fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
            text.parse().map_err(|_| format!("not a number: {text}"))
        }
        match name {
            "-port" => self.port = number(text()?)?,
            "-ipv6" => self.ipv6 = true,
            "-shim-id" => self.shim_id = number(text()?)?,
            "-server" => self.is_server = true,
            "-resume-count" => self.resume_count = number(text()?)?,
            "-is-handshaker-supported" => self.is_handshaker_supported = true,
            "-cert-file" => self.cert_file = Some(text()?.into()),
            "-key-file" => self.key_file = Some(text()?.into()),
            "-trust-cert" => drop(text()?),
            "-verify-peer" => self.verify_peer = true,
            "-verify-fail" => self.verify_fail = true,
            "-use-custom-verify-callback" | "-expect-verify-result" => (),
            "-require-any-client-certificate" => self.require_client_certificate = true,
            "-curves" => self.curves.push(number(text()?)?),
            "-signing-prefs" => self.signing_prefs.push(number(text()?)?),
            "-verify-prefs" => self.verify_prefs.push(number(text()?)?),
            "-host-name" => self.host_name = text()?.into(),
            "-expect-server-name" => self.expect_server_name = Some(text()?.into()),
            "-advertise-alpn" => self.advertise_alpn = protocols(text()?.as_bytes()),
            "-select-alpn" => self.select_alpn = Some(text()?.as_bytes().to_vec()),
            "-expect-alpn" => self.expect_alpn = Some(text()?.as_bytes().to_vec()),
            "-expect-advertised-alpn" => drop(text()?),
            "-no-ticket" => self.no_ticket = true,
            "-enable-early-data" => self.enable_early_data = true,
            "-expect-accept-early-data" => self.expect_accept_early_data = true,
            "-expect-reject-early-data" => self.expect_reject_early_data = true,
            "-expect-no-offer-early-data" => self.expect_no_offer_early_data = true,
            "-expect-ticket-supports-early-data" => self.expect_ticket_supports_early_data = true,
            "-expect-early-data-reason" => drop(text()?),
            "-expect-session-miss" => self.expect_session_miss = true,
            "-expect-no-session" => self.expect_no_session = true,
            "-expect-hrr" => self.expect_hrr = true,
            "-expect-no-hrr" => self.expect_no_hrr = true,
            "-expect-curve-id" => self.expect_curve = Some(number(text()?)?),
            "-expect-cipher" => self.expect_cipher = Some(number(text()?)?),
            "-expect-peer-signature-algorithm" => {
                self.expect_peer_signature_algorithm = Some(number(text()?)?);
            }
            "-shim-writes-first" => self.shim_writes_first = true,
            "-shim-initial-write" => self.shim_initial_write = Some(text()?.as_bytes().to_vec()),
            "-shim-shuts-down" => self.shim_shuts_down = true,
            "-check-close-notify" => self.check_close_notify = true,
            "-key-update" => self.key_update = true,
            "-read-size" => self.read_size = number(text()?)?,
            "-export-keying-material" => self.export_len = number(text()?)?,
            "-export-label" => self.export_label = text()?.into(),
            "-export-context" => self.export_context = text()?.into(),
            // TLS 1.3 doesn't tell an absent context from an empty one.
            "-use-export-context" => (),
            "-resumption-delay" => self.resumption_delay = number(text()?)?,
            "-psk" => self.psk = Some(text()?.into()),
            "-psk-identity" => self.psk_identity = Some(text()?.into()),
            "-min-version" | "-expect-version" if number::<u16>(text()?)? <= TLS1_3 => {
                if name == "-expect-version" && number::<u16>(text()?)? != TLS1_3 {
                    return Err("a version before TLS 1.3".into());
                }
            }
            "-max-version" if number::<u16>(text()?)? == TLS1_3 => (),
            // They change nothing for an engine without sockets of its own.
            "-async"
            | "-implicit-handshake"
            | "-no-op-extra-handshake"
            | "-handshake-twice"
            | "-no-tls1"
            | "-no-tls11"
            | "-no-tls12"
            | "-expect-extended-master-secret"
            | "-expect-no-secure-renegotiation"
            | "-expect-secure-renegotiation"
            | "-forbid-renegotiation-after-handshake"
            | "-renegotiate-ignore"
            | "-permute-extensions"
            | "-partial-write"
            | "-write-different-record-sizes" => (),
            "-max-cert-list" => drop(text()?),
            other => return Err(other.into()),
        }
        Ok(())
    }
}

/// A list of protocols as ALPN writes it.
fn protocols(mut wire: &[u8]) -> Vec<Vec<u8>> {
    let mut listed = Vec::new();
    while let Some((&len, rest)) = wire.split_first() {
        let Some((protocol, rest)) = rest.split_at_checked(len.into()) else { break };
        listed.push(protocol.to_vec());
        wire = rest;
    }
    listed
}
