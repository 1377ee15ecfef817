//! `exchange-capability` (TS 29.573 §6.1.5.2.2, §6.1.5.2.3).

use serde::{Deserialize, Serialize};

use super::extensible::extensible;
use super::present;
use super::{Features, HandshakeId, Message};
use crate::names::{Fqdn, PlmnId};

/// The capabilities of a SEPP, sent to begin an association, or to end one: if the only capability is
/// [`None`](SecurityCapability::None).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SecNegotiateReqData {
    /// The sender.
    pub sender: Fqdn,
    /// In the order of its preference; not empty.
    #[serde(deserialize_with = "present::items")]
    pub supported_sec_capability_list: Vec<SecurityCapability>,
    /// The identifier of this exchange; release 19.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub n32_handshake_id: Option<HandshakeId>,
    /// Whether it routes by the header `3gpp-Sbi-Target-apiRoot`.
    #[serde(rename = "3GppSbiTargetApiRootSupported", default)]
    pub target_api_root_supported: bool,
    /// The networks that it represents.
    #[serde(
        default,
        deserialize_with = "present::objects_if_any",
        skip_serializing_if = "Option::is_none"
    )]
    pub plmn_id_list: Option<Vec<PlmnId>>,
    /// The stand-alone private networks that it represents.
    #[serde(
        default,
        deserialize_with = "present::objects_if_any",
        skip_serializing_if = "Option::is_none"
    )]
    pub snpn_id_list: Option<Vec<PlmnIdNid>>,
    /// The network that it targets.
    #[serde(
        default,
        deserialize_with = "present::object",
        skip_serializing_if = "Option::is_none"
    )]
    pub target_plmn_id: Option<PlmnId>,
    /// The stand-alone private network that it targets.
    #[serde(
        default,
        deserialize_with = "present::object",
        skip_serializing_if = "Option::is_none"
    )]
    pub target_snpn_id: Option<PlmnIdNid>,
    /// The intended purposes.
    #[serde(
        default,
        deserialize_with = "present::objects_if_any",
        skip_serializing_if = "Option::is_none"
    )]
    pub intended_usage_purpose: Option<Vec<IntendedN32Purpose>>,
    /// Its optional features.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub supported_features: Option<Features>,
    /// The name at which it accepts N32-f, unless it is `sender`.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub sender_n32f_fqdn: Option<Fqdn>,
    /// The port of N32-f, as originally specified in release 18.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub sender_n32f_port: Option<u64>,
    /// The ports of N32-f.
    #[serde(
        default,
        deserialize_with = "present::items_if_any",
        skip_serializing_if = "Option::is_none"
    )]
    pub sender_n32f_port_list: Option<Vec<u64>>,
    /// The interval in which it sends something on a quiet N32-f connection, in seconds; release 19.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub n32_keepalive_timer: Option<i64>,
}

impl Message for SecNegotiateReqData {
    const REQUIRED: &'static [&'static str] = &["sender", "supportedSecCapabilityList"];
}

/// The answer to [`SecNegotiateReqData`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SecNegotiateRspData {
    /// The sender.
    pub sender: Fqdn,
    /// The chosen capability.
    pub selected_sec_capability: SecurityCapability,
    /// The identifier in the request.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub n32_handshake_id: Option<HandshakeId>,
    /// Whether it routes by the header `3gpp-Sbi-Target-apiRoot`.
    #[serde(rename = "3GppSbiTargetApiRootSupported", default)]
    pub target_api_root_supported: bool,
    /// The networks that it represents.
    #[serde(
        default,
        deserialize_with = "present::objects_if_any",
        skip_serializing_if = "Option::is_none"
    )]
    pub plmn_id_list: Option<Vec<PlmnId>>,
    /// The stand-alone private networks that it represents.
    #[serde(
        default,
        deserialize_with = "present::objects_if_any",
        skip_serializing_if = "Option::is_none"
    )]
    pub snpn_id_list: Option<Vec<PlmnIdNid>>,
    /// The allowed purposes.
    #[serde(
        default,
        deserialize_with = "present::objects_if_any",
        skip_serializing_if = "Option::is_none"
    )]
    pub allowed_usage_purpose: Option<Vec<IntendedN32Purpose>>,
    /// The rejected purposes.
    #[serde(
        default,
        deserialize_with = "present::objects_if_any",
        skip_serializing_if = "Option::is_none"
    )]
    pub rejected_usage_purpose: Option<Vec<IntendedN32Purpose>>,
    /// The optional features of both.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub supported_features: Option<Features>,
    /// The name at which it accepts N32-f, unless it is `sender`.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub sender_n32f_fqdn: Option<Fqdn>,
    /// The port of N32-f.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub sender_n32f_port: Option<u64>,
    /// The ports of N32-f, in the form of release 18.
    #[serde(
        default,
        deserialize_with = "present::items_if_any",
        skip_serializing_if = "Option::is_none"
    )]
    pub sender_n32f_port_list: Option<Vec<u64>>,
    /// The interval in which it sends something on a quiet N32-f connection, in seconds; release 19.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub n32_keepalive_timer: Option<i64>,
}

impl Message for SecNegotiateRspData {
    const REQUIRED: &'static [&'static str] = &["sender", "selectedSecCapability"];
}

extensible! {
    /// How N32-f is protected.
    SecurityCapability {
        /// By TLS alone:
        Tls = "TLS",
        /// Message by message:
        Prins = "PRINS",
        /// Not at all; it ends the association:
        None = "NONE",
    }
}

/// A purpose, with explanations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IntendedN32Purpose {
    /// The purpose.
    pub usage_purpose: N32Purpose,
    /// For people.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub additional_info: Option<String>,
    /// Why it is rejected.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub cause: Option<String>,
}

impl From<N32Purpose> for IntendedN32Purpose {
    fn from(usage_purpose: N32Purpose) -> Self {
        Self { usage_purpose, additional_info: None, cause: None }
    }
}

extensible! {
    /// A purpose of an association.
    N32Purpose {
        Roaming = "ROAMING",
        InterPlmnMobility = "INTER_PLMN_MOBILITY",
        SmsInterconnect = "SMS_INTERCONNECT",
        SnpnInterconnect = "SNPN_INTERCONNECT",
        DisasterRoaming = "DISASTER_ROAMING",
        DataAnalyticsExchange = "DATA_ANALYTICS_EXCHANGE",
        RoamingTest = "ROAMING_TEST",
        InterPlmnMobilityTest = "INTER_PLMN_MOBILITY_TEST",
        SmsInterconnectTest = "SMS_INTERCONNECT_TEST",
        SnpnInterconnectTest = "SNPN_INTERCONNECT_TEST",
        DisasterRoamingTest = "DISASTER_ROAMING_TEST",
        DataAnalyticsExchangeTest = "DATA_ANALYTICS_EXCHANGE_TEST",
    }
}

/// A stand-alone private network (TS 29.571 §5.4.4.33).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct PlmnIdNid {
    /// The PLMN ID, which several of them may share.
    pub plmn: PlmnId,
    /// 11 hexadecimal digits.
    nid: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Parts {
    mcc: String,
    mnc: String,
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    nid: Option<String>,
}

impl TryFrom<Parts> for PlmnIdNid {
    type Error = &'static str;

    fn try_from(Parts { mcc, mnc, nid }: Parts) -> Result<Self, Self::Error> {
        let is_nid =
            |nid: &String| nid.len() == 11 && nid.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !nid.as_ref().is_none_or(is_nid) {
            return Err("a NID is 11 hexadecimal digits");
        }
        let plmn =
            PlmnId::new(&mcc, &mnc).map_err(|_| "an MCC has three digits, an MNC two or three")?;
        Ok(Self { plmn, nid })
    }
}

impl From<PlmnIdNid> for Parts {
    fn from(PlmnIdNid { plmn, nid }: PlmnIdNid) -> Self {
        Self { mcc: plmn.mcc().to_owned(), mnc: plmn.mnc().to_owned(), nid }
    }
}
