//! Which tickets a client can use, and asks for (RFC 9149).

use super::negotiation::Negotiation;
use crate::limits::MAX_POST_HANDSHAKE_IN_A_ROW;
use crate::resume::one_time_keys;
use crate::wire::NamedGroup;

/// Which tickets a client can use.
pub(super) struct TicketPlan {
    /// How many.
    pub(super) count: u8,
    /// The ticket_age_add of the first, drawn together with the server's random: a draw takes as long as hashing
    /// half a kilobyte, however short it is.
    pub(super) first_age_add: [u8; 4],
    /// The kind of one-time key, if forward-secret tickets accompany them.
    pub(super) one_time_kind: Option<NamedGroup>,
}

impl TicketPlan {
    /// RFC 9149: what the client asks for, up to the server's limit. A client that can't use a
    /// ticket with psk_dhe_ke gets none, unless psk_ke is allowed.
    pub(super) fn new(
        negotiation: &Negotiation<'_>,
        resumed: bool,
        first_age_add: [u8; 4],
    ) -> Self {
        let (config, hello) = (negotiation.config, &negotiation.hello.parsed);
        let modes = hello.psk_modes.unwrap_or_default();
        let usable =
            modes.psk_dhe_ke || (modes.psk_ke && config.policy.psk_only_without_forward_secrecy);
        let most = config.policy.tickets.at_most(MAX_POST_HANDSHAKE_IN_A_ROW);
        let requested = hello.small.ticket_request.unwrap_or(most);
        let count = match (usable, resumed) {
            (false, _) => 0,
            (true, false) => requested.new_session_count.min(most.new_session_count),
            (true, true) => requested.resumption_count.min(most.resumption_count),
        };
        let guard = config.policy.early_data.forward_secret.as_ref();
        let one_time_kind =
            guard.zip(negotiation.forward_secret.kinds).and_then(|(guard, offered)| {
                let known = guard
                    .kinds
                    .iter()
                    .filter(|kind| one_time_keys(&config.provider, **kind).is_some());
                known.copied().find(|kind| offered.contains(kind.0))
            });
        Self { count, first_age_add, one_time_kind }
    }
}
