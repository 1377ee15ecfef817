//! The messages of N32-c (TS 29.573 §6.1.5, releases 18 and 19) and their parts (TS 29.571).
//!
//! Members and values unknown to this release are ignored; each known member must be present if it is required, at most
//! once, and of its type. [`decode()`] reports the member at fault.

mod capability;
mod decode;
mod error_report;
mod extensible;
mod message;
mod params;
mod present;
mod problem;
mod redirect;
mod shortened;
mod values;

pub use self::capability::{
    IntendedN32Purpose, N32Purpose, PlmnIdNid, SecNegotiateReqData, SecNegotiateRspData,
    SecurityCapability,
};
pub use self::decode::{MalformedMessage, decode};
pub use self::error_report::{
    FailedModificationInfo, FailureReason, N32ReleaseIndication, N32fContextInfo, N32fErrorDetail,
    N32fErrorInfo, N32fErrorType, RiErrorInformation,
};
pub use self::message::Message;
pub use self::params::{
    ApiIeMapping, ApiSignature, IeInfo, IeLocation, IeType, IpxProviderSecInfo, ProtectionPolicy,
    SecParamExchReqData, SecParamExchRspData,
};
pub use self::problem::{Cause, InvalidParam, ProblemDetails};
pub use self::redirect::ExtRedirectResponse;
pub use self::values::{Features, HandshakeId, NotHexadecimal};

#[cfg(test)]
pub(crate) mod tests;
