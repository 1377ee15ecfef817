//! What either side sends in its small extensions, with one entry for each.

use super::client::ClientConfig;
use super::server::ServerConfig;
use crate::limits::{MAX_POST_HANDSHAKE_IN_A_ROW, MAX_RECORD_SIZE_LIMIT};
use crate::wire::{RecordSizeLimit, SmallExtensions};

impl ClientConfig {
    /// Returns those of a ClientHello.
    pub(super) fn small_extensions(&self) -> SmallExtensions {
        SmallExtensions {
            record_size_limit: self.record_size_limit.map(RecordSizeLimit),
            // More in a row would look like a flood to this same client.
            ticket_request: (self.policy.resumption)
                .then(|| self.policy.tickets.at_most(MAX_POST_HANDSHAKE_IN_A_ROW)),
            ..SmallExtensions::default()
        }
    }
}

impl ServerConfig {
    /// Returns those of EncryptedExtensions, in answer to the `offered` ones of the ClientHello.
    pub(super) fn small_extensions(&self, offered: &SmallExtensions) -> SmallExtensions {
        let own_limit = self.record_size_limit.unwrap_or(MAX_RECORD_SIZE_LIMIT);
        SmallExtensions {
            record_size_limit: offered.record_size_limit.map(|_| RecordSizeLimit(own_limit)),
            ..SmallExtensions::default()
        }
    }
}
