//! A SEPP of a roaming partner.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;

use super::{DialAddress, PeerGuard, Reconnection, values};
use crate::names::{Fqdn, PlmnSet};

/// `[peer.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Peer {
    /// Its name on N32, which its certificate must contain.
    pub fqdn: Fqdn,
    /// The networks that it represents, all within its anchor.
    #[serde(deserialize_with = "values::plmns")]
    pub plmns: PlmnSet,
    /// The `[trust.NAME]` by which its certificate is judged.
    pub anchor: String,
    /// The addresses of its N32-c: `["192.0.2.1:7443"]`, tried in this order.
    #[serde(default)]
    pub address: Vec<DialAddress>,
    /// In place of `address`: an SRV name, whose priorities and weights apply.
    pub srv: Option<String>,
    /// The addresses of its N32-f. Default: as announced over N32-c, else those of its N32-c.
    #[serde(default)]
    pub n32f_address: Vec<DialAddress>,
    /// SHA-256 fingerprints of its certificates in hexadecimal, one of which it must show. Default: any certificate
    /// under its anchor.
    #[serde(default)]
    pub pins: Vec<Pin>,
    /// The purposes of N32 with it (TS 29.573 §6.1.5.3.11). Default: roaming.
    #[serde(default = "roaming")]
    pub purposes: Vec<Purpose>,
    /// Whether this SEPP initiates N32-c. Default: yes; otherwise it waits for the peer.
    #[serde(default = "yes")]
    pub initiate: bool,
    /// How long N32-f may be idle before a keep-alive check. Default: 60 seconds.
    #[serde(default = "a_minute", deserialize_with = "values::duration")]
    pub keep_alive: Duration,
    /// Whether it may omit the server name from its ClientHello, against TS 33.501 §13.1.2. Default: no.
    #[serde(default)]
    pub risky_without_sni: bool,
    /// How N32-f reconnects.
    #[serde(default)]
    pub reconnection: Reconnection,
    /// What it may request, and at what rate.
    #[serde(default)]
    pub guard: PeerGuard,
}

/// A SHA-256 fingerprint of a certificate: 64 hexadecimal digits, with or without colons.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Pin(pub [u8; 32]);

impl TryFrom<String> for Pin {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let digits: String = text.chars().filter(|&c| c != ':').collect();
        let bytes = tessera_kit::hex::decode(&digits);
        bytes.and_then(|bytes| bytes.as_slice().try_into().ok()).map(Self).ok_or_else(|| {
            "must be the SHA-256 of a certificate, 64 hexadecimal digits: openssl x509 -noout -fingerprint -sha256 \
             prints it"
                .to_owned()
        })
    }
}

impl fmt::Debug for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A purpose of N32: N32Purpose of TS 29.573 §6.1.5.3.11.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(missing_docs, reason = "the names of TS 29.573")]
pub enum Purpose {
    Roaming,
    InterPlmnMobility,
    SmsInterconnect,
    SnpnInterconnect,
    DisasterRoaming,
    DataAnalyticsExchange,
    RoamingTest,
    InterPlmnMobilityTest,
    SmsInterconnectTest,
    SnpnInterconnectTest,
    DisasterRoamingTest,
    DataAnalyticsExchangeTest,
}

impl Purpose {
    /// Returns it as in N32-c: `ROAMING`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Roaming => "ROAMING",
            Self::InterPlmnMobility => "INTER_PLMN_MOBILITY",
            Self::SmsInterconnect => "SMS_INTERCONNECT",
            Self::SnpnInterconnect => "SNPN_INTERCONNECT",
            Self::DisasterRoaming => "DISASTER_ROAMING",
            Self::DataAnalyticsExchange => "DATA_ANALYTICS_EXCHANGE",
            Self::RoamingTest => "ROAMING_TEST",
            Self::InterPlmnMobilityTest => "INTER_PLMN_MOBILITY_TEST",
            Self::SmsInterconnectTest => "SMS_INTERCONNECT_TEST",
            Self::SnpnInterconnectTest => "SNPN_INTERCONNECT_TEST",
            Self::DisasterRoamingTest => "DISASTER_ROAMING_TEST",
            Self::DataAnalyticsExchangeTest => "DATA_ANALYTICS_EXCHANGE_TEST",
        }
    }
}

fn yes() -> bool {
    true
}

fn roaming() -> Vec<Purpose> {
    vec![Purpose::Roaming]
}

fn a_minute() -> Duration {
    Duration::from_secs(60)
}
