//! The rules, by their names in configurations, logs and metrics.

use std::fmt;
use std::str::FromStr;

use http::StatusCode;

macro_rules! rules {
    ($($(#[doc = $doc:literal])+ $rule:ident = $name:literal, $status:ident, $cause:literal, $detail:literal;)+) => {
        /// A rule that a message can break.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Rule {
            $($(#[doc = $doc])+ $rule,)+
        }

        impl Rule {
            /// All rules.
            pub const ALL: &'static [Self] = &[$(Self::$rule,)+];

            /// Returns its name: `plmn-in-json`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$rule => $name,)+
                }
            }

            /// Returns the status of the answer.
            pub const fn status(self) -> StatusCode {
                match self {
                    $(Self::$rule => StatusCode::$status,)+
                }
            }

            /// Returns the `cause` of the answer's ProblemDetails (TS 29.500 table 5.2.7.2-1).
            pub const fn cause(self) -> &'static str {
                match self {
                    $(Self::$rule => $cause,)+
                }
            }

            /// Returns a sentence for the answer's ProblemDetails. It reveals nothing internal.
            pub const fn detail(self) -> &'static str {
                match self {
                    $(Self::$rule => $detail,)+
                }
            }
        }
    };
}

rules! {
    /// The peer may not use this service, method or path (GSMA's category 1).
    Api = "api", FORBIDDEN, "INVALID_API", "this request is not allowed between these networks";
    /// The target is not a name in a network behind the receiving SEPP, or is one that peers may not reach (TS 33.501
    /// §5.9.3.2).
    Target = "target", FORBIDDEN, "MANDATORY_IE_INCORRECT", "the target does not belong to the receiving network";
    /// A header names a network that its sender may not represent (category 2).
    PlmnInHeader = "plmn-in-header", FORBIDDEN, "PLMNID_MISMATCH", "a header or the path names another network";
    /// A query parameter names such a network.
    PlmnInQuery = "plmn-in-query", FORBIDDEN, "PLMNID_MISMATCH", "a query parameter names another network";
    /// A member of JSON names such a network.
    PlmnInJson = "plmn-in-json", FORBIDDEN, "PLMNID_MISMATCH", "the content names another network";
    /// A claim of an access token names such a network (TS 33.501 §13.4.1.2).
    PlmnInToken = "plmn-in-token", FORBIDDEN, "PLMNID_MISMATCH", "the access token names another network";
    /// A request for an access token names such a network.
    PlmnInTokenRequest = "plmn-in-token-request", FORBIDDEN, "PLMNID_MISMATCH", "the request for an access token names another network";
    /// A member or parameter is in no API of roaming (`members.txt`).
    UnknownMember = "unknown-member", BAD_REQUEST, "OPTIONAL_IE_INCORRECT", "the request has a member that no API defines";
    /// A SUPI, SUCI or GUTI belongs to neither network.
    UeIdentity = "ue-identity", FORBIDDEN, "PLMNID_MISMATCH", "the subscriber belongs to another network";
    /// A callback URI is not in the sender's network.
    CallbackUri = "callback-uri", FORBIDDEN, "OPTIONAL_IE_INCORRECT", "a URI does not belong to the sending network";
    /// Path, query, JSON, form, multipart or token can't be read, or can be read in two ways.
    Malformed = "malformed", BAD_REQUEST, "INVALID_MSG_FORMAT", "the message is malformed";
    /// JSON is nested too deeply.
    JsonDepth = "json-depth", BAD_REQUEST, "INVALID_MSG_FORMAT", "the content is nested too deeply";
    /// The body is too long to inspect.
    BodyLength = "body-length", PAYLOAD_TOO_LARGE, "INVALID_MSG_FORMAT", "the content is too long";
    /// The body is compressed, so it can't be inspected.
    ContentCoding = "content-coding", UNSUPPORTED_MEDIA_TYPE, "INVALID_MSG_FORMAT", "the content must not be compressed";
    /// The body has a type that its API lacks.
    ContentType = "content-type", UNSUPPORTED_MEDIA_TYPE, "INVALID_MSG_FORMAT", "the type of the content is unknown";
    /// JSON has `encBlockIndex`, which is reserved for PRINS (TS 33.501 §13.2.2.4).
    EncBlockIndex = "enc-block-index", BAD_REQUEST, "INVALID_MSG_FORMAT", "encBlockIndex is misplaced";
    /// A hidden name was not created by this SEPP, or a name can't be hidden (TS 33.501 §5.9.3.2).
    Topology = "topology", FORBIDDEN, "MANDATORY_IE_INCORRECT", "a name is unknown";
    /// The peer exceeds its rate.
    Rate = "rate", TOO_MANY_REQUESTS, "NF_CONGESTION_RISK", "too many requests";
    /// The peer exceeds its rate for one service.
    RateOfService = "rate-of-service", TOO_MANY_REQUESTS, "NF_CONGESTION_RISK", "too many requests for this service";
    /// The SEPP is overloaded, and the message has a low priority (TS 29.500 §6.8).
    Load = "load", SERVICE_UNAVAILABLE, "NF_CONGESTION", "too much work is in progress";
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Rule {
    type Err = UnknownRule;

    fn from_str(name: &str) -> Result<Self, UnknownRule> {
        let found = Self::ALL.iter().find(|rule| rule.name() == name);
        found.copied().ok_or_else(|| UnknownRule(name.to_owned()))
    }
}

/// No rule has this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownRule(pub String);

impl fmt::Display for UnknownRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a rule; the rules are", self.0)?;
        for (index, rule) in Rule::ALL.iter().enumerate() {
            write!(f, "{} {rule}", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownRule {}

/// A set of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RuleSet(u32);

impl RuleSet {
    /// Returns whether it contains this rule.
    pub const fn contains(self, rule: Rule) -> bool {
        self.0 & 1 << rule as u8 != 0
    }
}

impl FromIterator<Rule> for RuleSet {
    fn from_iter<I: IntoIterator<Item = Rule>>(rules: I) -> Self {
        Self(rules.into_iter().fold(0, |set, rule| set | 1 << rule as u8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_found_by_their_names() {
        for &rule in Rule::ALL {
            assert_eq!(rule.name().parse(), Ok(rule));
            assert!(rule.status().is_client_error() || rule.status().is_server_error());
        }
        let unknown = "plmn".parse::<Rule>().unwrap_err().to_string();
        assert!(
            unknown.starts_with("`plmn` is not a rule; the rules are api, target,"),
            "{unknown}"
        );
        assert!(Rule::ALL.len() <= 32, "a set has a bit for each");
        let set: RuleSet = [Rule::Api, Rule::Load].into_iter().collect();
        let has: Vec<_> = Rule::ALL.iter().filter(|rule| set.contains(**rule)).collect();
        assert_eq!(has, [&Rule::Api, &Rule::Load]);
    }

    #[test]
    fn a_rule_that_is_named_twice_is_in_the_set() {
        let set: RuleSet = [Rule::Api, Rule::Target, Rule::Api].into_iter().collect();
        assert!(set.contains(Rule::Api) && set.contains(Rule::Target));
        assert!(!set.contains(Rule::Malformed));
    }
}
