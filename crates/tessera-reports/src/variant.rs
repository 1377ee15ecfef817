//! The variants of the roaming experiments: a way to connect, its cipher suite, and where one-time keys are stored.

use serde::{Deserialize, Serialize};

use crate::keys::{Continuation, KeyExchange, OneTimeKey};
use crate::letter::Letter;
use crate::mode::Mode;
use crate::named::named;

named! {
    /// The one cipher suite that both ends have, by its number in TLS.
    #[derive(Default)]
    Suite.number {
        /// `TLS_AES_256_GCM_SHA384`: a reading of the paper's suite, which doesn't exist ("TLS_AES_256_GCM_SHA256" in its
        /// Table 4, "HKDF-SHA384" in its section 5.1).
        #[default]
        Aes256GcmSha384 = "0x1302",
        /// `TLS_AES_128_GCM_SHA256`, which every implementation has.
        Aes128GcmSha256 = "0x1301",
    }
}

named! {
    /// Where a server stores its one-time keys.
    #[derive(Default)]
    Store.name {
        /// In its own memory. Modes without one-time keys have no other store.
        #[default]
        Memory = "memory",
        /// In an etcd close to it, as for a fleet.
        Etcd = "etcd",
    }
}

/// One way to connect, its suite, and its store. Reports flatten its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variant {
    /// The paper's option.
    pub option: Letter,
    /// The mode.
    pub mode: Mode,
    /// How the handshake agrees a key; `None` if it doesn't.
    pub kx: Option<KeyExchange>,
    /// The kind of the one-time key.
    pub ticket_key: Option<OneTimeKey>,
    /// How the handshake continues after forward-secret early data.
    pub continuation: Option<Continuation>,
    /// Where one-time keys are stored.
    pub store: Store,
    /// The cipher suite.
    pub suite: Suite,
}

impl Variant {
    /// Returns it as a key, for programs.
    #[must_use]
    pub fn key(&self) -> String {
        let kx = self.kx.map_or("none", KeyExchange::name);
        let key = self.ticket_key.map_or("none", OneTimeKey::name);
        let continuation = self.continuation.map_or("none", Continuation::name);
        let (store, suite) = (self.store.name(), self.suite.number());
        [self.option.letter(), self.mode.name(), kx, key, continuation, store, suite].join("/")
    }
}
