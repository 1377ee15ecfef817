//! The measured request, and its answer: what an AMF asks a UDM abroad about a subscriber (TS 29.503 §5.2.2.2.3).

use bytes::Bytes;
use http_body_util::Empty;
use hyper::{Request, Version};

use crate::Failure;

/// The port after the target's name; `[sbi] hosts` has its address.
const TARGET: &str = "http://udm.5gc.mnc070.mcc999.3gppnetwork.org:8000";
/// With the PLMN that asks, as JSON.
const PATH: &str = concat!(
    "/nudm-sdm/v2/imsi-999700000000001/am-data",
    "?plmn-id=%7B%22mcc%22%3A%22001%22%2C%22mnc%22%3A%2201%22%7D",
);
/// The network function's name.
pub(crate) const UDM: &str = "udm.5gc.mnc070.mcc999.3gppnetwork.org";

/// 170 bytes of AccessAndMobilitySubscriptionData.
pub(crate) const ANSWER: &str = concat!(
    r#"{"gpsis":["msisdn-99970000001"],"subscribedUeAmbr":{"uplink":"1 Gbps","downlink":"2 Gbps"},"#,
    r#""nssai":{"defaultSingleNssais":[{"sst":1,"sd":"000001"}]},"ratRestrictions":[]}"#,
);

/// Returns a request to this authority.
pub(crate) fn request(to: &str, scheme: &str) -> Result<Request<Empty<Bytes>>, Failure> {
    Ok(Request::get(format!("{scheme}://{to}{PATH}"))
        .version(Version::HTTP_2)
        .header("user-agent", "AMF")
        .header("accept", "application/json,application/problem+json")
        .header("3gpp-sbi-target-apiroot", TARGET)
        .header("3gpp-sbi-max-rsp-time", "10000")
        .body(Empty::new())?)
}
