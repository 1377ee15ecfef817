//! The rules of the published OpenAPI files (TS 29.573 N32 Handshake, TS 29.571 Common Data), as an independent table.

use serde_json::Value;

/// The values that a member may have.
pub enum Kind {
    Text,
    /// An enumeration: any string.
    Open,
    Bool,
    Unsigned,
    Integer,
    /// 16 hexadecimal digits.
    Id,
    /// Hexadecimal digits, or none.
    Features,
    Fqdn,
    Plmn,
    Snpn,
    /// Anything at all.
    Any,
    /// An object whose values are booleans.
    Flags,
    /// An array of at least one item.
    Items(&'static Kind),
    Object(&'static [Member]),
}

pub struct Member {
    pub name: &'static str,
    pub kind: Kind,
    pub required: bool,
}

const fn required(name: &'static str, kind: Kind) -> Member {
    Member { name, kind, required: true }
}

const fn optional(name: &'static str, kind: Kind) -> Member {
    Member { name, kind, required: false }
}

const PURPOSE: Kind = Kind::Object(&[
    required("usagePurpose", Kind::Open),
    optional("additionalInfo", Kind::Text),
    optional("cause", Kind::Text),
]);

const POLICY: Kind = Kind::Object(&[
    required(
        "apiIeMappingList",
        Kind::Items(&Kind::Object(&[
            required("apiSignature", Kind::Any),
            required("apiMethod", Kind::Open),
            required(
                "IeList",
                Kind::Items(&Kind::Object(&[
                    required("ieLoc", Kind::Open),
                    required("ieType", Kind::Open),
                    optional("reqIe", Kind::Text),
                    optional("rspIe", Kind::Text),
                    optional("isModifiable", Kind::Bool),
                    optional("isModifiableByIpx", Kind::Flags),
                ])),
            ),
        ])),
    ),
    optional("dataTypeEncPolicy", Kind::Items(&Kind::Open)),
]);

const INTERMEDIARY: Kind = Kind::Object(&[
    required("ipxProviderId", Kind::Fqdn),
    optional("rawPublicKeyList", Kind::Items(&Kind::Text)),
    optional("certificateList", Kind::Items(&Kind::Text)),
]);

const INVALID_PARAM: Kind =
    Kind::Object(&[required("param", Kind::Text), optional("reason", Kind::Text)]);

pub const REQUEST: &[Member] = &[
    required("sender", Kind::Fqdn),
    required("supportedSecCapabilityList", Kind::Items(&Kind::Open)),
    optional("n32HandshakeId", Kind::Id),
    optional("3GppSbiTargetApiRootSupported", Kind::Bool),
    optional("plmnIdList", Kind::Items(&Kind::Plmn)),
    optional("snpnIdList", Kind::Items(&Kind::Snpn)),
    optional("targetPlmnId", Kind::Plmn),
    optional("targetSnpnId", Kind::Snpn),
    optional("intendedUsagePurpose", Kind::Items(&PURPOSE)),
    optional("supportedFeatures", Kind::Features),
    optional("senderN32fFqdn", Kind::Fqdn),
    optional("senderN32fPort", Kind::Unsigned),
    optional("senderN32fPortList", Kind::Items(&Kind::Unsigned)),
    optional("n32KeepaliveTimer", Kind::Integer),
];

pub const ANSWER: &[Member] = &[
    required("sender", Kind::Fqdn),
    required("selectedSecCapability", Kind::Open),
    optional("n32HandshakeId", Kind::Id),
    optional("3GppSbiTargetApiRootSupported", Kind::Bool),
    optional("plmnIdList", Kind::Items(&Kind::Plmn)),
    optional("snpnIdList", Kind::Items(&Kind::Snpn)),
    optional("allowedUsagePurpose", Kind::Items(&PURPOSE)),
    optional("rejectedUsagePurpose", Kind::Items(&PURPOSE)),
    optional("supportedFeatures", Kind::Features),
    optional("senderN32fFqdn", Kind::Fqdn),
    optional("senderN32fPort", Kind::Unsigned),
    optional("senderN32fPortList", Kind::Items(&Kind::Unsigned)),
    optional("n32KeepaliveTimer", Kind::Integer),
];

pub const PARAMS_REQUEST: &[Member] = &[
    required("n32fContextId", Kind::Id),
    optional("jweCipherSuiteList", Kind::Items(&Kind::Text)),
    optional("jwsCipherSuiteList", Kind::Items(&Kind::Text)),
    optional("protectionPolicyInfo", POLICY),
    optional("ipxProviderSecInfoList", Kind::Items(&INTERMEDIARY)),
    optional("sender", Kind::Fqdn),
];

pub const PARAMS_ANSWER: &[Member] = &[
    required("n32fContextId", Kind::Id),
    optional("selectedJweCipherSuite", Kind::Text),
    optional("selectedJwsCipherSuite", Kind::Text),
    optional("selProtectionPolicyInfo", POLICY),
    optional("ipxProviderSecInfoList", Kind::Items(&INTERMEDIARY)),
    optional("sender", Kind::Fqdn),
];

pub const CONTEXT: &[Member] = &[required("n32fContextId", Kind::Id)];

pub const ERROR: &[Member] = &[
    required("n32fMessageId", Kind::Text),
    required("n32fErrorType", Kind::Open),
    optional("n32fContextId", Kind::Id),
    optional(
        "failedModificationList",
        Kind::Items(&Kind::Object(&[
            required("ipxId", Kind::Fqdn),
            required("n32fErrorType", Kind::Open),
        ])),
    ),
    optional(
        "errorDetailsList",
        Kind::Items(&Kind::Object(&[
            // Release 18 requires it, release 19 doesn't.
            optional("attribute", Kind::Text),
            required("msgReconstructFailReason", Kind::Open),
        ])),
    ),
    optional("policyMismatchList", Kind::Items(&INVALID_PARAM)),
    optional("riErrorInformation", Kind::Object(&[optional("n32fConnectionRelInd", Kind::Open)])),
];

pub const REDIRECTION: &[Member] = &[
    optional("cause", Kind::Text),
    optional("targetSepp", Kind::Text),
    optional("seppFqdnForDiscovery", Kind::Fqdn),
];

pub const PROBLEM: &[Member] = &[
    optional("title", Kind::Text),
    optional("status", Kind::Unsigned),
    optional("detail", Kind::Text),
    optional("cause", Kind::Open),
    optional("invalidParams", Kind::Items(&INVALID_PARAM)),
];

impl Kind {
    /// Returns whether this value is allowed.
    pub fn has(&self, value: &Value) -> bool {
        let text = value.as_str();
        let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match self {
            Self::Any => true,
            Self::Text | Self::Open => text.is_some(),
            Self::Bool => value.is_boolean(),
            Self::Unsigned => value.is_u64(),
            Self::Integer => value.is_i64(),
            Self::Id => text.is_some_and(|text| text.len() == 16 && is_hex(text)),
            Self::Features => text.is_some_and(is_hex),
            Self::Fqdn => text.is_some_and(is_fqdn),
            Self::Plmn => is_network(value),
            Self::Snpn => {
                let nid = value.get("nid");
                let is_nid =
                    |nid: &Value| nid.as_str().is_some_and(|nid| nid.len() == 11 && is_hex(nid));
                is_network(value) && nid.is_none_or(is_nid)
            }
            Self::Flags => value.as_object().is_some_and(|map| map.values().all(Value::is_boolean)),
            Self::Items(item) => value.as_array().is_some_and(|items| {
                !items.is_empty() && items.iter().all(|value| item.has(value))
            }),
            Self::Object(members) => is_object(members, value),
        }
    }

    /// Returns an allowed value.
    pub fn example(&self) -> Value {
        match self {
            Self::Any | Self::Text => "text".into(),
            Self::Open => "FROM_A_LATER_RELEASE".into(),
            Self::Bool => true.into(),
            Self::Unsigned | Self::Integer => 443.into(),
            Self::Id => "0123456789abcDEF".into(),
            Self::Features => "1".into(),
            Self::Fqdn => "sepp1.5gc.mnc070.mcc999.3gppnetwork.org".into(),
            Self::Plmn => serde_json::json!({"mcc": "999", "mnc": "70"}),
            Self::Snpn => serde_json::json!({"mcc": "999", "mnc": "070", "nid": "0123456789a"}),
            Self::Flags => serde_json::json!({"ipx.example.org": true}),
            Self::Items(item) => vec![item.example()].into(),
            Self::Object(members) => example(members),
        }
    }
}

/// Returns an object with all members.
pub fn example(members: &[Member]) -> Value {
    members.iter().map(|member| (member.name.to_owned(), member.kind.example())).collect()
}

fn is_object(members: &[Member], value: &Value) -> bool {
    let Some(map) = value.as_object() else { return false };
    members.iter().all(|member| match map.get(member.name) {
        Some(value) => member.kind.has(value),
        None => !member.required,
    })
}

fn is_fqdn(text: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let name = text.strip_suffix('.').unwrap_or(text);
    (4..=253).contains(&name.len())
        && name.contains('.')
        && name.split('.').all(label)
        && name.rsplit('.').next().is_some_and(|top| top.bytes().any(|b| b.is_ascii_alphabetic()))
}

fn is_network(value: &Value) -> bool {
    let digits = |name: &str, lens: &[usize]| {
        value.get(name).and_then(Value::as_str).is_some_and(|text| {
            lens.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    digits("mcc", &[3]) && digits("mnc", &[2, 3])
}
