//! Flags of features that Tessera doesn't have, by decision: their tests don't run.

/// Returns the feature that a flag is about, if Tessera doesn't have it. `value` is what follows the flag.
pub fn feature(flag: &str, value: Option<&str>) -> Option<&'static str> {
    let found = FEATURES.iter().find(|(_, flags)| flags.contains(&flag));
    if let Some((feature, _)) = found {
        return Some(feature);
    }
    let version = value.and_then(|value| value.parse().ok()).unwrap_or(0u16);
    // DTLS counts down.
    let is_old = !(TLS_1_3..=DTLS_1_3).contains(&version);
    (matches!(flag, "-max-version" | "-expect-version") && is_old).then_some(OLD_VERSIONS)
}

const TLS_1_3: u16 = 0x0304;
const DTLS_1_3: u16 = 0xfefc;

const OLD_VERSIONS: &str = "TLS 1.2, DTLS 1.2 and older";

/// Each feature with its flags.
const FEATURES: &[(&str, &[&str])] = &[
    (
        OLD_VERSIONS,
        &[
            "-no-tls13",
            "-fallback-scsv",
            "-false-start",
            "-allow-false-start-without-alpn",
            "-cbc-record-splitting",
            "-psk",
            "-psk-identity",
            "-tls-unique",
            "-renegotiate-once",
            "-renegotiate-freely",
            "-renegotiate-explicit",
            "-expect-total-renegotiations",
            "-no-legacy-server-connect",
            "-expect-secure-renegotiation",
            "-expect-certificate-types",
            "-cipher",
            "-jdk11-workaround",
        ],
    ),
    ("DTLS-SRTP (RFC 5764)", &["-srtp-profiles"]),
    (
        "QUIC",
        &[
            "-quic",
            "-quic-transport-params",
            "-expect-quic-transport-params",
            "-quic-use-legacy-codepoint",
            "-quic-early-data-context",
        ],
    ),
    (
        "Encrypted Client Hello (RFC 9849)",
        &[
            "-enable-ech-grease",
            "-reject-unusable-ech-config",
            "-ech-server-config",
            "-ech-server-key",
            "-ech-is-retry-config",
            "-expect-ech-accept",
            "-expect-ech-name-override",
            "-expect-no-ech-name-override",
            "-expect-ech-retry-configs",
            "-expect-no-ech-retry-configs",
            "-ech-config-list",
            "-fail-early-callback-ech-rewind",
        ],
    ),
    (
        "application settings (ALPS)",
        &[
            "-application-settings",
            "-alps-use-new-codepoint",
            "-defer-alps",
            "-expect-peer-application-settings",
        ],
    ),
    ("channel ID", &["-enable-channel-id", "-expect-channel-id", "-send-channel-id"]),
    (
        "next protocol negotiation (NPN)",
        &[
            "-advertise-npn",
            "-advertise-empty-npn",
            "-expect-next-proto",
            "-expect-no-next-proto",
            "-select-next-proto",
            "-select-empty-next-proto",
        ],
    ),
    ("handshake hints", &["-handshake-hints", "-allow-hint-mismatch", "-handshaker-path"]),
    ("delegated credentials (RFC 9345)", &["-new-delegated-credential", "-delegated-credential"]),
    ("password-authenticated key exchange", &["-new-spake2plusv1-credential"]),
    (
        "trust anchor identifiers",
        &[
            "-requested-trust-anchors",
            "-available-trust-anchors",
            "-expect-peer-available-trust-anchors",
            "-expect-peer-match-trust-anchor",
            "-expect-no-peer-match-trust-anchor",
            "-cert-properties",
        ],
    ),
    (
        "padding that a server adds on request",
        &[
            "-request-server-padding",
            "-server-supports-padding",
            "-expect-server-sent-requested-padding",
        ],
    ),
    (
        "resumption across names",
        &[
            "-resumption-across-names-enabled",
            "-expect-resumable-across-names",
            "-expect-not-resumable-across-names",
        ],
    ),
    (
        "choice of key shares by the application",
        &["-key-shares", "-no-key-shares", "-server-supported-groups-hint", "-curves-flags"],
    ),
    (
        "alerts chosen by the application",
        &["-send-alert", "-fail-early-callback", "-fail-ddos-callback", "-fail-cert-callback"],
    ),
    ("authorities' names for the application", &["-expect-client-ca-list"]),
    ("callbacks for every message", &["-expect-msg-callback"]),
    ("tickets in BoringSSL's format", &["-ticket-key"]),
    ("server_name left unacknowledged", &["-no-server-name-ack"]),
    ("handshakes that the application gives up", &["-handshake-never-done"]),
    ("a report of the skew of a ticket's age", &["-expect-ticket-age-skew"]),
    ("early data in the middle of the server's flight", &["-early-write-after-message"]),
    (
        "protocols (ALPN) that are empty or were not offered",
        &["-allow-unknown-alpn-protos", "-select-empty-alpn"],
    ),
    ("a configurable bound on Certificate messages", &["-max-cert-list"]),
];
