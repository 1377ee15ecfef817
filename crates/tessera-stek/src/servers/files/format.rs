//! How servers read ticket keys from files.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tessera_vault::TicketKeyForm;
use zeroize::Zeroizing;

use super::Contents;
use crate::keys::ServerKeySet;

/// How a server reads its ticket keys from files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// One file for each key, 80 or 48 bytes; the first file seals. Files that the ring has no key for hold random keys.
    ///
    /// nghttpx: `--tls-ticket-key-file`, as often as there are files, with `--tls-ticket-key-cipher=aes-256-cbc` for 80
    /// bytes and `aes-128-cbc` for 48, and SIGHUP as the command. (nghttpx(1), and `read_tls_ticket_key_file` in
    /// nghttp2's `src/shrpx_config.cc`. It takes the cipher's key before that for HMAC; other servers reverse them. The
    /// bytes are random, and a domain has one kind of server, so that the order doesn't matter.)
    Binary,
    /// One file, 48 bytes for each key; the first key seals.
    ///
    /// Apache Traffic Server: `proxy.config.ssl.server.ticket_key.filename`, and `traffic_ctl config reload` as the
    /// command. (`ticket_block_create` in its `SSLCertLookup.cc`: 16 bytes each of name, HMAC key and AES key. It reads
    /// a file again if its time, in whole seconds, is later than that of the last load: `SSLTicketParams::LoadTicket` in
    /// `SSLConfig.cc`.)
    Concatenated,
    /// One file, one key a line, 80 or 48 bytes in base64; the first key seals. For programs that read them on their own.
    ///
    /// Go: `SetSessionTicketKeys` takes keys of 32 bytes, all at once: the last 32 of the 80 bytes. Its tickets name no
    /// key (`encryptTicket` in `crypto/tls/ticket.go`), so that no probe works; its program should end the command only
    /// when it has read the file.
    Base64,
    /// h2o's YAML, for AES-256-CBC and SHA-256.
    ///
    /// h2o: `ssl-session-resumption` with `mode: ticket`, `ticket-store: file` and `ticket-file`. It needs no command: it
    /// looks at the file every ten seconds, and reads it if its time, in whole seconds, has changed. So it needs a probe
    /// with [`reads_within`](super::Probe::reads_within) of at least 12 seconds. (`parse_ticket_entry` and
    /// `ticket_file_updater` in its `src/ssl.c`.)
    ///
    /// h2o seals with the latest key whose `not_before` has come, unless its `not_after` has passed, and opens tickets
    /// under all. So it stops sealing by itself when the issuing key's time ends. The next key's `not_before` is far in
    /// the future: the ring decides when it seals.
    H2o,
}

/// A text that names no format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownFormat;

impl FileFormat {
    /// All formats.
    pub const ALL: [Self; 4] = [Self::Binary, Self::Concatenated, Self::Base64, Self::H2o];

    /// Returns its name in a configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Concatenated => "concatenated",
            Self::Base64 => "base64",
            Self::H2o => "h2o",
        }
    }

    /// Whether its servers read a file only if its time, in whole seconds, has changed.
    pub(super) fn is_read_by_time(self) -> bool {
        matches!(self, Self::Concatenated | Self::H2o)
    }

    /// Whether it has keys of this form.
    #[must_use]
    pub fn takes(self, form: TicketKeyForm) -> bool {
        match self {
            Self::Binary | Self::Base64 => true,
            Self::Concatenated => form == TicketKeyForm::Aes128,
            Self::H2o => form == TicketKeyForm::Aes256,
        }
    }
}

impl FromStr for FileFormat {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        Self::ALL.into_iter().find(|format| format.name() == name).ok_or(UnknownFormat)
    }
}

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = FileFormat::ALL.map(|format| format!("`{}`", format.name())).join(", ");
        write!(
            f,
            "no format of ticket keys: it is one of {names}; a server with a single key, such as Apache httpd or Node, \
             can't hold the next key before it seals"
        )
    }
}

impl std::error::Error for UnknownFormat {}

pub(super) fn concatenated(keys: &ServerKeySet) -> Contents {
    let mut contents = with_room(keys, 1);
    keys.in_order().for_each(|key| contents.extend_from_slice(key));
    contents
}

pub(super) fn base64(keys: &ServerKeySet) -> Contents {
    let mut contents = with_room(keys, 2);
    for key in keys.in_order() {
        let line = Zeroizing::new(STANDARD.encode(&**key));
        contents.extend_from_slice(line.as_bytes());
        contents.push(b'\n');
    }
    contents
}

/// The end of the year 9999: a time that doesn't come.
const NEVER: u64 = 253_402_300_799;

pub(super) fn h2o(keys: &ServerKeySet, issues_until: Option<Duration>) -> Contents {
    // The latest second in which it seals.
    let last =
        issues_until.map_or(NEVER, |until| until.as_secs().saturating_sub(1).clamp(1, NEVER));
    let mut contents = with_room(keys, 8);
    let earlier = keys.earlier.iter().map(|key| (key, 0, 0));
    let next = keys.next.iter().map(|key| (key, NEVER, NEVER));
    for (key, not_before, not_after) in next.chain([(&keys.issuing, 1, last)]).chain(earlier) {
        let (name, secrets) = key.split_at_checked(16).unwrap_or_default();
        let (hmac, cipher) = secrets.split_at_checked(32).unwrap_or_default();
        contents.extend_from_slice(b"- name: ");
        push_hex(&mut contents, name);
        contents.extend_from_slice(b"\n  cipher: AES-256-CBC\n  hash: SHA256\n  key: ");
        push_hex(&mut contents, cipher);
        // h2o wants a key for HMAC of a whole block. HMAC itself pads shorter ones with zeros (RFC 2104 §2).
        push_hex(&mut contents, hmac);
        push_hex(&mut contents, &[0; 32]);
        let times = format!("\n  not_before: {not_before}\n  not_after: {not_after}\n");
        contents.extend_from_slice(times.as_bytes());
    }
    contents
}

/// Returns a buffer for the keys, `times` as long: one that never grows, which would leave keys behind.
fn with_room(keys: &ServerKeySet, times: usize) -> Contents {
    let length: usize = keys.in_order().map(|key| key.len()).sum();
    Zeroizing::new(Vec::with_capacity(length * times))
}

fn push_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    let digit = |value: u8| if value < 10 { b'0' + value } else { b'a' + value - 10 };
    out.extend(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(length: usize) -> ServerKeySet {
        let key = |byte| Zeroizing::new(vec![byte; length]);
        ServerKeySet { issuing: key(1), next: Some(key(2)), earlier: vec![key(3), key(4)] }
    }

    #[test]
    fn a_format_is_known_by_its_name_and_a_single_key_is_refused_with_the_reason() {
        for format in FileFormat::ALL {
            assert_eq!(format.name().parse(), Ok(format));
        }
        let refusal = "apache".parse::<FileFormat>().unwrap_err().to_string();
        assert!(refusal.contains("can't hold the next key before it seals"), "{refusal}");
    }

    #[test]
    fn the_issuing_key_comes_first() {
        let contents = concatenated(&keys(48));
        let order: Vec<_> = contents.chunks(48).map(|key| (key.len(), key[0])).collect();
        assert_eq!(order, [(48, 1), (48, 2), (48, 3), (48, 4)]);
        let contents = base64(&keys(80));
        let lines: Vec<_> = std::str::from_utf8(&contents).unwrap().lines().collect();
        let keys: Vec<_> = lines.iter().map(|line| STANDARD.decode(line).unwrap()).collect();
        assert_eq!(keys, [1, 2, 3, 4].map(|byte| vec![byte; 80]));
    }

    #[test]
    fn h2o_seals_with_the_issuing_key_until_its_end() {
        let mut keys = keys(80);
        keys.issuing[16..48].fill(5);
        let contents = h2o(&keys, Some(Duration::from_secs(1000)));
        assert!(contents.len() <= 4 * 80 * 8, "the buffer has grown");
        let text = std::str::from_utf8(&contents).unwrap();
        let entries: Vec<_> = text.split("- name: ").skip(1).collect();
        let zeros = "0".repeat(64);
        let issuing = format!(
            "{}\n  cipher: AES-256-CBC\n  hash: SHA256\n  key: {}{}{zeros}\n  not_before: 1\n  not_after: 999\n",
            "01".repeat(16),
            "01".repeat(32),
            "05".repeat(32)
        );
        assert_eq!(entries[1], issuing);
        let times = |entry: &str| {
            let numbers =
                entry.lines().skip(4).map(|line| line.rsplit_once(' ').unwrap().1.parse());
            numbers.collect::<Result<Vec<u64>, _>>().unwrap()
        };
        let times: Vec<_> = entries.iter().copied().map(times).collect();
        assert_eq!(times, [vec![NEVER, NEVER], vec![1, 999], vec![0, 0], vec![0, 0]]);
    }
}
