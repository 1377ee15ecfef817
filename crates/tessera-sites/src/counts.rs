//! What the two ends of the channel count.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters, their names, and what they say at one moment.
macro_rules! counts {
    ($(#[$about:meta])* $counts:ident while $counters:ident { $($(#[$doc:meta])* $field:ident,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct $counts { $($(#[$doc])* pub $field: u64,)* }

        /// The same while it is counted.
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
    /// What became of this site's requests to others since the channel began.
    ChannelCounts while ChannelCounters {
        /// Requests that were made.
        requests,
        /// Those that were answered in time.
        answered,
        /// Those that had no answer within their deadline.
        timed_out,
        /// Those that had none at once: no such site, none that was there for longer than a deadline, or
        /// too many under way.
        refused,
        /// Answers to nobody: the request had been given up.
        late,
        /// Connections that were made.
        connections,
        /// Those among them that resumed a session.
        resumptions,
        /// Attempts to connect that failed, and connections that ended.
        failures,
    }
}

counts! {
    /// What a site's server did for the others since it began.
    SiteServerCounts while ServerCounters {
        /// Connections of known sites.
        connections,
        /// Connections that were refused: the handshake failed, or the peer is no site, speaks another
        /// protocol, or has as many connections as it may.
        refused,
        /// Requests that were read.
        requests,
        /// Acknowledgements that were given to be sent.
        answered,
        /// Those among them that are `unknown` because the vault took too long.
        timed_out,
        /// Connections that ended because of what came over them.
        malformed,
    }
}

pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
