//! `n32f-terminate` and `n32f-error` (TS 29.573 §6.1.5.2.8 and following).

use serde::{Deserialize, Serialize};

use super::extensible::extensible;
use super::present;
use super::{HandshakeId, InvalidParam, Message};
use crate::names::Fqdn;

/// A terminated N32-f context, and the answer to that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct N32fContextInfo {
    /// Its identifier.
    pub n32f_context_id: HandshakeId,
}

impl Message for N32fContextInfo {
    const REQUIRED: &'static [&'static str] = &["n32fContextId"];
}

/// What was wrong with a message on N32-f.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct N32fErrorInfo {
    /// The message.
    pub n32f_message_id: String,
    /// The error.
    pub n32f_error_type: N32fErrorType,
    /// The context of the message.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub n32f_context_id: Option<HandshakeId>,
    /// The intermediaries' modifications that couldn't be applied.
    #[serde(
        default,
        deserialize_with = "present::objects_if_any",
        skip_serializing_if = "Option::is_none"
    )]
    pub failed_modification_list: Option<Vec<FailedModificationInfo>>,
    /// The parts that couldn't be reassembled.
    #[serde(
        default,
        deserialize_with = "present::objects_if_any",
        skip_serializing_if = "Option::is_none"
    )]
    pub error_details_list: Option<Vec<N32fErrorDetail>>,
    /// Where the policies differ.
    #[serde(
        default,
        deserialize_with = "present::objects_if_any",
        skip_serializing_if = "Option::is_none"
    )]
    pub policy_mismatch_list: Option<Vec<InvalidParam>>,
    /// An intermediary's report about the connection; release 19.
    #[serde(
        default,
        deserialize_with = "present::object",
        skip_serializing_if = "Option::is_none"
    )]
    pub ri_error_information: Option<RiErrorInformation>,
}

impl Message for N32fErrorInfo {
    const REQUIRED: &'static [&'static str] = &["n32fMessageId", "n32fErrorType"];
}

extensible! {
    /// The error of a message, or of the connection.
    N32fErrorType {
        IntegrityCheckFailed = "INTEGRITY_CHECK_FAILED",
        IntegrityCheckOnModificationsFailed = "INTEGRITY_CHECK_ON_MODIFICATIONS_FAILED",
        ModificationsInstructionsFailed = "MODIFICATIONS_INSTRUCTIONS_FAILED",
        DecipheringFailed = "DECIPHERING_FAILED",
        MessageReconstructionFailed = "MESSAGE_RECONSTRUCTION_FAILED",
        ContextNotFound = "CONTEXT_NOT_FOUND",
        IntegrityKeyExpired = "INTEGRITY_KEY_EXPIRED",
        EncryptionKeyExpired = "ENCRYPTION_KEY_EXPIRED",
        PolicyMismatch = "POLICY_MISMATCH",
        NetworkMaintenance = "NETWORK_MAINTENANCE",
        InsufficientResources = "INSUFFICIENT_RESOURCES",
        NoConnectionDueToContract = "NO_CONNECTION_DUE_TO_CONTRACT",
        IdleN32fConnection = "IDLE_N32F_CONNECTION",
        SwitchingToAnotherRi = "SWITCHING_TO_ANOTHER_RI",
        NoConnectionDueToConnectivity = "NO_CONNECTION_DUE_TO_CONNECTIVITY",
    }
}

/// An intermediary's modifications that couldn't be applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailedModificationInfo {
    /// The intermediary.
    pub ipx_id: Fqdn,
    /// The error.
    pub n32f_error_type: N32fErrorType,
}

/// A part that couldn't be reassembled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct N32fErrorDetail {
    /// The part. Release 18 requires it.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub attribute: Option<String>,
    /// Why.
    pub msg_reconstruct_fail_reason: FailureReason,
}

extensible! {
    /// Why a message couldn't be reassembled.
    FailureReason {
        InvalidJsonPointer = "INVALID_JSON_POINTER",
        InvalidIndexToEncryptedBlock = "INVALID_INDEX_TO_ENCRYPTED_BLOCK",
        InvalidHttpHeader = "INVALID_HTTP_HEADER",
    }
}

/// An intermediary's report about a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RiErrorInformation {
    /// Whether the connection ends, and whether another may follow.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub n32f_connection_rel_ind: Option<N32ReleaseIndication>,
}

extensible! {
    /// Whether a terminated connection may be re-established.
    N32ReleaseIndication {
        ReestablishmentAllowed = "RELEASE_REESTABLISHMENT_ALLOWED",
        ReestablishmentNotAllowed = "RELEASE_REESTABLISHMENT_NOT_ALLOWED",
        Reestablish = "REESTABLISH",
    }
}
