//! The counters of both ends of the channel.

use std::sync::atomic::{AtomicU64, Ordering};

/// Defines counters, and a snapshot of them.
macro_rules! counts {
    ($(#[$about:meta])* $counts:ident while $counters:ident { $($(#[$doc:meta])* $field:ident,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct $counts { $($(#[$doc])* pub $field: u64,)* }

        /// The live counters.
        #[derive(Default)]
        pub(crate) struct $counters { $(pub(crate) $field: AtomicU64,)* }

        impl $counters {
            pub(crate) fn now(&self) -> $counts {
                $counts { $($field: self.$field.load(Ordering::Relaxed),)* }
            }
        }
    };
}

counts! {
    /// This site's requests to others since the channel began.
    ChannelCounts while ChannelCounters {
        /// Requests that were made.
        requests,
        /// Requests answered in time.
        answered,
        /// Requests without an answer within their deadline.
        timed_out,
        /// Requests that failed at once: no such site, a site unreachable for longer than a deadline, or too many in
        /// progress.
        refused,
        /// Answers to requests that had been given up.
        late,
        /// Connections that were made.
        connections,
        /// Connections that resumed a session.
        resumptions,
        /// Failed attempts to connect, and connections that ended.
        failures,
    }
}

counts! {
    /// The work of a site's server for other sites since it began.
    SiteServerCounts while ServerCounters {
        /// Connections of known sites.
        connections,
        /// Refused connections: the handshake failed, or the peer is not a known site, uses another protocol, or has
        /// too many connections.
        refused,
        /// Requests that were read.
        requests,
        /// Acknowledgements passed on for sending.
        answered,
        /// Of these, those that are `unknown` because the vault took too long.
        timed_out,
        /// Connections ended because of malformed input.
        malformed,
    }
}

pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
