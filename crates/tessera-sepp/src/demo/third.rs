//! An operator that tries what it must not. Its certificate is valid, and others know it as a peer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode};
use tessera_kit::ProgramError;
use tessera_proxy::address::DialAddress;
use tessera_proxy::demo::{HOME, THIRD, VISITED, failed as stage_failed};
use tessera_proxy::http::body::Body;
use tessera_proxy::http::client::{Call, Pool, PoolOptions, Tls};
use tessera_proxy::http::deadline::Deadline;
use tessera_tokio::Connector;

use super::stage::Stage;
use super::trace::{Actor, Attempt};
use crate::names::Fqdn;

/// Makes all its attempts, and returns whether the intended rule refused each.
pub(super) async fn attempts(stage: &mut Stage) -> Result<Vec<(Attempt, bool)>, ProgramError> {
    let third = ThirdParty::new(stage)?;
    let mut made = Vec::new();
    let note = |made: &mut Vec<_>, attempt: Attempt, rule: &str| {
        let refused = attempt.rule.as_deref() == Some(rule) && attempt.status >= 400;
        made.push((attempt, refused));
    };
    let executed = stage.functions.all_executed();

    let what = "N32-f without an association";
    let attempt = third.n32f(stage, what, AM_DATA, &[]).await?;
    note(&mut made, attempt, "association");

    for (what, path, body, rule) in [
        (
            "N32-c: ends the association of 001-01 (NONE in its name)",
            EXCHANGE,
            capabilities(VISITED.fqdn, "NONE", ""),
            "sender",
        ),
        (
            "N32-c: n32f-terminate of a context that is not its own",
            TERMINATE,
            r#"{"n32fContextId":"0123456789ABCDEF"}"#.to_owned(),
            "context",
        ),
        (
            "N32-c: claims to represent 001-01",
            EXCHANGE,
            capabilities(THIRD.fqdn, "TLS", r#","plmnIdList":[{"mcc":"001","mnc":"01"}]"#),
            "plmn",
        ),
    ] {
        let attempt = third.n32c(stage, what, path, body).await?;
        note(&mut made, attempt, rule);
    }
    if stage.home.association(VISITED).is_none() {
        return Err(stage_failed("the association of 001-01 was ended by another operator"));
    }

    let request = capabilities(THIRD.fqdn, "TLS", r#","plmnIdList":[{"mcc":"310","mnc":"410"}]"#);
    let status = third.post(EXCHANGE, request).await?;
    if status != StatusCode::OK || stage.home.association(THIRD).is_none() {
        return Err(stage_failed(format!("310-410 could not agree on N32 for itself: {status}")));
    }
    stage.trace.step(Actor::Third, "N32-c: agrees on N32 for itself, as it may");

    let target = |name| ("3gpp-sbi-target-apiroot", name);
    for (what, ask, headers, rule) in [
        (
            "N32-f: 3gpp-Sbi-Originating-Network-Id: 001-01",
            AM_DATA,
            [("3gpp-sbi-originating-network-id", "001-01")],
            "plmn-in-header",
        ),
        (
            "N32-f: servingNetworkName of 001-01 in JSON",
            AUTHENTICATION,
            [("accept", "application/json")],
            "plmn-in-json",
        ),
        (
            "N32-f: open relay to 001-01",
            AM_DATA,
            [target("http://udm.5gc.mnc001.mcc001.3gppnetwork.org")],
            "target",
        ),
        ("N32-f: open relay to an address", AM_DATA, [target("http://127.0.0.1:22")], "target"),
        ("N32-f: a service that is not for roaming", DATABASE, [("accept", "*/*")], "api"),
    ] {
        let attempt = third.n32f(stage, what, ask, &headers).await?;
        note(&mut made, attempt, rule);
    }
    if stage.functions.all_executed() != executed {
        return Err(stage_failed("the home network executed something for 310-410"));
    }
    stage.trace.step(Actor::HomeSepp, "none of these requests reached a network function");
    Ok(made)
}

/// Its connections to the home network.
struct ThirdParty {
    n32c: Pool,
    n32f: Pool,
}

/// A method, a path and JSON.
type SampleRequest = (&'static str, &'static str, &'static str);

impl ThirdParty {
    fn new(stage: &Stage) -> Result<Self, ProgramError> {
        let home: Fqdn = HOME.fqdn.parse().map_err(stage_failed)?;
        let connectors = stage.third.sepp.sepp().to(&home);
        let connectors = connectors.ok_or_else(|| stage_failed("310-410 has no TLS"))?;
        let pool = |connector: Connector, listener| {
            let address = DialAddress::Tcp(stage.home.address(listener)?);
            let tls = Arc::new(Tls::new(connector).named(HOME.fqdn));
            Ok::<_, ProgramError>(Pool::new(tls, address, PoolOptions::default()))
        };
        Ok(Self { n32c: pool(connectors.n32c, "n32c")?, n32f: pool(connectors.n32f, "n32f")? })
    }

    async fn n32c(
        &self,
        stage: &Stage,
        what: &'static str,
        path: &str,
        body: String,
    ) -> Result<Attempt, ProgramError> {
        let before = stage.home.counts();
        let status = self.post(path, body).await?;
        Ok(judged(stage, &before, what, status))
    }

    async fn post(&self, path: &str, body: String) -> Result<StatusCode, ProgramError> {
        let mut request = Request::new(Body::full(Bytes::from(body)));
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() =
            format!("https://{}{path}", HOME.fqdn).parse().map_err(stage_failed)?;
        request.headers_mut().insert(CONTENT_TYPE, JSON);
        status(&self.n32c, request).await
    }

    async fn n32f(
        &self,
        stage: &Stage,
        what: &'static str,
        (method, path, body): SampleRequest,
        headers: &[(&'static str, &'static str)],
    ) -> Result<Attempt, ProgramError> {
        let mut request = Request::new(Body::full(Bytes::from_static(body.as_bytes())));
        *request.method_mut() = method.parse().map_err(stage_failed)?;
        *request.uri_mut() =
            format!("https://{}{path}", HOME.fqdn).parse().map_err(stage_failed)?;
        let all: &mut HeaderMap = request.headers_mut();
        let own = ("3gpp-sbi-target-apiroot", "http://udm.5gc.mnc070.mcc999.3gppnetwork.org");
        for &(name, value) in [own].iter().chain(headers) {
            all.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        if !body.is_empty() {
            all.insert(CONTENT_TYPE, JSON);
        }
        let before = stage.home.counts();
        let status = status(&self.n32f, request).await?;
        Ok(judged(stage, &before, what, status))
    }
}

async fn status(pool: &Pool, request: Request<Body>) -> Result<StatusCode, ProgramError> {
    let deadline = Deadline::after(Duration::from_secs(5));
    let answer = pool.call(request, Call::until(deadline)).await.map_err(stage_failed)?.response;
    let status = answer.status();
    let _ = answer.into_body().collect_up_to(1 << 16).await;
    Ok(status)
}

/// Returns the rule by which the home network's SEPP refused it.
fn judged(
    stage: &Stage,
    before: &super::operator::Counts,
    what: &'static str,
    status: StatusCode,
) -> Attempt {
    let rule = stage.home.counts().moved(before, "sepp_policy_rejects_total", "rule");
    let status = status.as_u16();
    let attempt = Attempt { at: stage.trace.now(), what, status, rule };
    stage.trace.print(&attempt);
    attempt
}

/// Returns a SecNegotiateReqData (TS 29.573 §6.1.5.2.2).
fn capabilities(sender: &str, capability: &str, more: &str) -> String {
    format!(
        r#"{{"sender":"{sender}","supportedSecCapabilityList":["{capability}"],"3GppSbiTargetApiRootSupported":true{more}}}"#
    )
}

const EXCHANGE: &str = "/n32c-handshake/v1/exchange-capability";
const TERMINATE: &str = "/n32c-handshake/v1/n32f-terminate";
const AM_DATA: SampleRequest = ("GET", "/nudm-sdm/v2/imsi-999700000000001/am-data", "");
const AUTHENTICATION: SampleRequest = (
    "POST",
    "/nausf-auth/v1/ue-authentications",
    r#"{"supiOrSuci":"suci-0-999-70-0000-0-0-0000000001","servingNetworkName":"5G:mnc001.mcc001.3gppnetwork.org"}"#,
);
const DATABASE: SampleRequest = ("GET", "/nudr-dr/v2/subscription-data/imsi-999700000000001", "");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
