//! Alerts (RFC 8446 §6).

use crate::code_point::code_points;

code_points! {
    /// The description of an alert (RFC 8446 §6).
    AlertDescription(u8) {
        /// close_notify.
        CLOSE_NOTIFY = 0,
        /// unexpected_message.
        UNEXPECTED_MESSAGE = 10,
        /// bad_record_mac.
        BAD_RECORD_MAC = 20,
        /// record_overflow.
        RECORD_OVERFLOW = 22,
        /// handshake_failure.
        HANDSHAKE_FAILURE = 40,
        /// bad_certificate.
        BAD_CERTIFICATE = 42,
        /// unsupported_certificate.
        UNSUPPORTED_CERTIFICATE = 43,
        /// certificate_revoked.
        CERTIFICATE_REVOKED = 44,
        /// certificate_expired.
        CERTIFICATE_EXPIRED = 45,
        /// certificate_unknown.
        CERTIFICATE_UNKNOWN = 46,
        /// illegal_parameter.
        ILLEGAL_PARAMETER = 47,
        /// unknown_ca.
        UNKNOWN_CA = 48,
        /// access_denied.
        ACCESS_DENIED = 49,
        /// decode_error.
        DECODE_ERROR = 50,
        /// decrypt_error.
        DECRYPT_ERROR = 51,
        /// too_many_cids_requested, in DTLS (RFC 9147 §9).
        TOO_MANY_CIDS_REQUESTED = 52,
        /// protocol_version.
        PROTOCOL_VERSION = 70,
        /// insufficient_security.
        INSUFFICIENT_SECURITY = 71,
        /// internal_error.
        INTERNAL_ERROR = 80,
        /// user_canceled.
        USER_CANCELED = 90,
        /// missing_extension.
        MISSING_EXTENSION = 109,
        /// unsupported_extension.
        UNSUPPORTED_EXTENSION = 110,
        /// unrecognized_name.
        UNRECOGNIZED_NAME = 112,
        /// bad_certificate_status_response: an OCSP response that is not accepted.
        BAD_CERTIFICATE_STATUS_RESPONSE = 113,
        /// unknown_psk_identity.
        UNKNOWN_PSK_IDENTITY = 115,
        /// certificate_required.
        CERTIFICATE_REQUIRED = 116,
        /// no_application_protocol.
        NO_APPLICATION_PROTOCOL = 120,
    }
}

impl AlertDescription {
    /// Returns the content of an alert record: the level, which means nothing any more, and the description (RFC 8446 §6).
    pub(crate) fn to_content(self) -> [u8; 2] {
        const WARNING: u8 = 1;
        const FATAL: u8 = 2;
        let is_warning = matches!(self, Self::CLOSE_NOTIFY | Self::USER_CANCELED);
        [if is_warning { WARNING } else { FATAL }, self.0]
    }
}
