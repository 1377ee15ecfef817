//! `exchange-params` (TS 29.573 §6.1.5.2.4 and following), which belongs to PRINS.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::extensible::extensible;
use super::present;
use super::{HandshakeId, Message};
use crate::names::Fqdn;

/// The initiator's proposal of keys and policies for PRINS.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SecParamExchReqData {
    /// The context of messages to the sender.
    pub n32f_context_id: HandshakeId,
    /// Ciphers, in the order of preference.
    #[serde(
        default,
        deserialize_with = "present::items_if_any",
        skip_serializing_if = "Option::is_none"
    )]
    pub jwe_cipher_suite_list: Option<Vec<String>>,
    /// Signatures, in the order of preference.
    #[serde(
        default,
        deserialize_with = "present::items_if_any",
        skip_serializing_if = "Option::is_none"
    )]
    pub jws_cipher_suite_list: Option<Vec<String>>,
    /// What is protected, and what may be modified.
    #[serde(
        default,
        deserialize_with = "present::object",
        skip_serializing_if = "Option::is_none"
    )]
    pub protection_policy_info: Option<ProtectionPolicy>,
    /// The intermediaries' keys.
    #[serde(
        default,
        deserialize_with = "present::objects_if_any",
        skip_serializing_if = "Option::is_none"
    )]
    pub ipx_provider_sec_info_list: Option<Vec<IpxProviderSecInfo>>,
    /// The sender.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub sender: Option<Fqdn>,
}

impl Message for SecParamExchReqData {
    const REQUIRED: &'static [&'static str] = &["n32fContextId"];
}

/// The answer to [`SecParamExchReqData`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SecParamExchRspData {
    /// The context of messages to the sender.
    pub n32f_context_id: HandshakeId,
    /// The chosen cipher.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub selected_jwe_cipher_suite: Option<String>,
    /// The chosen signature.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub selected_jws_cipher_suite: Option<String>,
    /// The common policy.
    #[serde(
        default,
        deserialize_with = "present::object",
        skip_serializing_if = "Option::is_none"
    )]
    pub sel_protection_policy_info: Option<ProtectionPolicy>,
    /// The intermediaries' keys.
    #[serde(
        default,
        deserialize_with = "present::objects_if_any",
        skip_serializing_if = "Option::is_none"
    )]
    pub ipx_provider_sec_info_list: Option<Vec<IpxProviderSecInfo>>,
    /// The sender.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub sender: Option<Fqdn>,
}

impl Message for SecParamExchRspData {
    const REQUIRED: &'static [&'static str] = &["n32fContextId"];
}

/// What is protected, and what may be modified.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProtectionPolicy {
    /// The policy of each API.
    #[serde(deserialize_with = "present::objects")]
    pub api_ie_mapping_list: Vec<ApiIeMapping>,
    /// What is encrypted.
    #[serde(
        default,
        deserialize_with = "present::items_if_any",
        skip_serializing_if = "Option::is_none"
    )]
    pub data_type_enc_policy: Option<Vec<IeType>>,
}

/// The policy of one operation of an API.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiIeMapping {
    /// The operation.
    pub api_signature: ApiSignature,
    /// Its method.
    pub api_method: String,
    /// Its information elements.
    #[serde(rename = "IeList", deserialize_with = "present::objects")]
    pub ie_list: Vec<IeInfo>,
}

/// A URI, or the name of a callback: `{"callbackType":...}`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ApiSignature(Box<RawValue>);

/// The policy of an information element.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IeInfo {
    /// Its location.
    pub ie_loc: IeLocation,
    /// Its type.
    pub ie_type: IeType,
    /// A JSON pointer or a name, in requests.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub req_ie: Option<String>,
    /// The same in responses.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub rsp_ie: Option<String>,
    /// Whether intermediaries may modify it.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub is_modifiable: Option<bool>,
    /// The intermediaries that may.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub is_modifiable_by_ipx: Option<BTreeMap<String, bool>>,
}

extensible! {
    /// The type of an information element.
    IeType {
        UeId = "UEID",
        Location = "LOCATION",
        KeyMaterial = "KEY_MATERIAL",
        AuthenticationMaterial = "AUTHENTICATION_MATERIAL",
        AuthorizationToken = "AUTHORIZATION_TOKEN",
        RecursiveNonLeaf = "RECURSIVE_NON_LEAF",
        OtherType = "OTHER",
        NonSensitive = "NONSENSITIVE",
    }
}

extensible! {
    /// The location of an information element.
    IeLocation {
        UriParam = "URI_PARAM",
        UriPath = "URI_PATH",
        Header = "HEADER",
        Body = "BODY",
        MultipartBinary = "MULTIPART_BINARY",
    }
}

/// An intermediary's keys.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IpxProviderSecInfo {
    /// The intermediary.
    pub ipx_provider_id: Fqdn,
    /// Raw public keys.
    #[serde(
        default,
        deserialize_with = "present::items_if_any",
        skip_serializing_if = "Option::is_none"
    )]
    pub raw_public_key_list: Option<Vec<String>>,
    /// Certificates.
    #[serde(
        default,
        deserialize_with = "present::items_if_any",
        skip_serializing_if = "Option::is_none"
    )]
    pub certificate_list: Option<Vec<String>>,
}
