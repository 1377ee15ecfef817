//! Lies: values that are not allowed in a place.

use super::random::Random;
use super::{Kind, Lie, uris};

/// What a place holds, and so what a lie is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The sender's network: the local one and a third are lies.
    Sender,
    /// The sender's network, as a serving network name.
    Serving,
    /// Either's: a third one is a lie.
    Either,
    /// The same where the API has no network, so digits alone aren't one.
    Anywhere,
    /// A subscriber of the receiver's: the sender's and a third's are lies.
    Subscriber,
    /// A subscriber of either.
    Guest,
    /// A name of the sender's.
    Name,
    /// A name of either.
    NameOfEither,
    /// A URI of the sender's.
    Uri,
    /// A URI of either.
    UriOfEither,
    /// The same, or no URI: text without a scheme is none.
    Reference,
    /// Any text: a URI only in a common spelling.
    Link,
}

/// A value, before it is spelled.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Network { mcc: &'static str, mnc: &'static str },
    Text(String),
}

impl Place {
    /// Returns what it is, the value there, and what receivers must not find in this member.
    pub fn lie(self, random: &mut Random, member: &'static str) -> (Vec<String>, Value, Lie) {
        const THIRD: (&str, &str) = ("208", "93");
        let network = |(mcc, mnc): (&'static str, &'static str)| {
            let value = vec![format!("{mcc}-{mnc:0>3}")];
            (Kind::Network, value)
        };
        let of_sender = [THIRD, THIRD, ("999", "70"), ("001", "02"), ("310", "410")];
        let (what, value, (kind, values)) = match self {
            Self::Sender | Self::Either | Self::Anywhere => {
                let codes = if self == Self::Sender { *random.pick(&of_sender) } else { THIRD };
                (Vec::new(), Value::Network { mcc: codes.0, mnc: codes.1 }, network(codes))
            }
            Self::Serving => {
                let codes = *random.pick(&of_sender);
                let name = format!("5G:mnc{:0>3}.mcc{}.3gppnetwork.org", codes.1, codes.0);
                (Vec::new(), Value::Text(name), network(codes))
            }
            Self::Subscriber | Self::Guest => {
                let most = if self == Self::Guest { 3 } else { 5 };
                let (text, digits) = [
                    ("imsi-208930000000001", "20893"),
                    ("suci-0-208-93-0000-0-0-0000000001", "20893"),
                    ("IMSI-208930000000001", "20893"),
                    ("imsi-001010000000001", "00101"),
                    ("suci-0-001-01-0000-0-0-0000000001", "00101"),
                ][random.below(most)];
                (Vec::new(), Value::Text(text.into()), (Kind::Subscriber, vec![digits.into()]))
            }
            Self::Name | Self::NameOfEither => {
                let names = [
                    ("smf.5gc.mnc093.mcc208.3gppnetwork.org", THIRD),
                    ("SMF.5GC.MNC093.MCC208.3GPPNETWORK.ORG", THIRD),
                    ("smf.5gc.mnc093.mcc208.3gppnetwork.org.", THIRD),
                    ("smf.mnc001.mcc001.5gc.mnc093.mcc208.3gppnetwork.org", THIRD),
                    ("nrf.5gc.mnc070.mcc999.3gppnetwork.org", ("999", "70")),
                ];
                let (text, codes) = names[random.below(if self == Self::Name { 5 } else { 4 })];
                (Vec::new(), Value::Text(text.into()), network(codes))
            }
            Self::Uri | Self::UriOfEither | Self::Reference | Self::Link => {
                let (what, uri, values) = loop {
                    let (what, uri, values) = match self {
                        Self::Link => uris::absolute(random),
                        _ => uris::hostile(random),
                    };
                    let is_own = self != Self::Uri && uri.contains(uris::OWN);
                    let is_none = self == Self::Reference && what == "host alone";
                    if !is_own && !is_none {
                        break (what, uri, values);
                    }
                };
                (vec![format!("URI with {what}")], Value::Text(uri), (Kind::Host, values))
            }
        };
        let value = if random.is_honest { self.honest() } else { value };
        (what, value, Lie { member, kind, values })
    }

    /// Returns an allowed value.
    pub fn honest(self) -> Value {
        Value::Text(match self {
            Self::Sender | Self::Either | Self::Anywhere => {
                return Value::Network { mcc: "001", mnc: "01" };
            }
            Self::Serving => "5G:mnc001.mcc001.3gppnetwork.org".into(),
            Self::Subscriber | Self::Guest => "imsi-999700000000001".into(),
            Self::Name | Self::NameOfEither => uris::PEER.into(),
            Self::Uri | Self::UriOfEither | Self::Reference | Self::Link => {
                format!("http://{}:8080/x", uris::PEER)
            }
        })
    }
}
