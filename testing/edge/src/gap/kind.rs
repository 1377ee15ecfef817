//! The kinds of clients and of pools.

use tessera_edge_tests::StockClient;

/// A kind of client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `tessera-follow`, whose one-time key moves along.
    MovedKey,
    /// `tessera-follow` with a ticket alone.
    Ticket,
    Stock(StockClient),
}

/// A kind of pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PoolKind {
    /// Proxies of Tessera's.
    Tessera,
    /// Stock Envoys with one ticket key, whose responses name the next one.
    Envoy,
}

impl Kind {
    pub(crate) const ALL: [Self; 7] = [
        Self::MovedKey,
        Self::Ticket,
        Self::Stock(StockClient::Go),
        Self::Stock(StockClient::CurlCffi),
        Self::Stock(StockClient::Curl),
        Self::Stock(StockClient::Firefox),
        Self::Stock(StockClient::Chromium),
    ];

    /// Its name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::MovedKey => "follow-moved-key",
            Self::Ticket => "follow-ticket",
            Self::Stock(StockClient::Go) => "go",
            Self::Stock(StockClient::CurlCffi) => "curl-cffi",
            Self::Stock(StockClient::Curl) => "curl",
            Self::Stock(StockClient::Firefox) => "firefox",
            Self::Stock(StockClient::Chromium) => "chromium",
        }
    }

    /// Browsers take seconds to start.
    pub(crate) fn is_browser(self) -> bool {
        matches!(self, Self::Stock(StockClient::Firefox | StockClient::Chromium))
    }

    /// Whether it is measured in such a pool: Envoys have no one-time keys, and Chromium follows nowhere.
    pub(crate) fn visits(self, pool: PoolKind) -> bool {
        let only_ours = [Self::MovedKey, Self::Stock(StockClient::Chromium)];
        pool == PoolKind::Tessera || !only_ours.contains(&self)
    }

    /// Whether it follows an announcement.
    pub(crate) fn follows(self) -> bool {
        self != Self::Stock(StockClient::Chromium)
    }
}

impl PoolKind {
    pub(crate) const ALL: [Self; 2] = [Self::Tessera, Self::Envoy];

    /// Its name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tessera => "tessera",
            Self::Envoy => "envoy",
        }
    }
}
