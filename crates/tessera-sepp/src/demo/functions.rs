//! Toy versions of the home network's NRF, AUSF and UDM: they answer with realistic sizes, and remember what they
//! executed.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use tessera_proxy::http::body::Body;
use tessera_proxy::http::server::{AcceptedConnection, ServerOptions, serve};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The functions, each at its own address.
pub(super) struct Functions {
    pub(super) nrf: SocketAddr,
    pub(super) ausf: SocketAddr,
    pub(super) udm: SocketAddr,
    executions: Arc<Executions>,
    accepting: Vec<JoinHandle<()>>,
}

/// How many times each request was executed: by method and path.
#[derive(Default)]
struct Executions(Mutex<BTreeMap<String, usize>>);

impl Functions {
    /// Listens on free ports of loopback, for plaintext HTTP/2.
    pub(super) async fn start() -> io::Result<Self> {
        let executions = Arc::new(Executions::default());
        let mut accepting = Vec::new();
        let mut addresses = Vec::new();
        for _ in 0..3 {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            addresses.push(listener.local_addr()?);
            accepting.push(tokio::spawn(accept(listener, executions.clone())));
        }
        match addresses[..] {
            [nrf, ausf, udm] => Ok(Self { nrf, ausf, udm, executions, accepting }),
            _ => Err(io::ErrorKind::AddrNotAvailable.into()),
        }
    }

    /// Returns how many times requests with this method and path were executed.
    pub(super) fn executed(&self, method: &str, path: &str) -> usize {
        self.executions.lock().get(&key(method, path)).copied().unwrap_or_default()
    }

    /// Returns the number of all executed requests, except those of a SEPP to its NRF.
    pub(super) fn all_executed(&self) -> usize {
        let of_others = |(key, _): &(&String, &usize)| !key.contains(NF_MANAGEMENT);
        self.executions.lock().iter().filter(of_others).map(|(_, count)| count).sum()
    }

    /// Returns how many times a SEPP registered or deregistered (Nnrf_NFManagement), by the method.
    pub(super) fn registrations(&self, method: &str) -> usize {
        let start = key(method, NF_MANAGEMENT);
        let executions = self.executions.lock();
        executions.iter().filter(|(key, _)| key.starts_with(&start)).map(|(_, count)| count).sum()
    }
}

impl Drop for Functions {
    fn drop(&mut self) {
        self.accepting.iter().for_each(JoinHandle::abort);
    }
}

impl Executions {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(method: &str, path: &str) -> String {
    format!("{method} {path}")
}

async fn accept(listener: TcpListener, executions: Arc<Executions>) {
    while let Ok((socket, _)) = listener.accept().await {
        let executions = executions.clone();
        tokio::spawn(async move {
            let service = async |request: Request<Body>| {
                let (parts, body) = request.into_parts();
                // Answer only when the request is complete.
                let Ok(sent) = body.collect_up_to(MAX_BODY).await else {
                    return empty(StatusCode::BAD_REQUEST);
                };
                let path = parts.uri.path();
                *executions.lock().entry(key(parts.method.as_str(), path)).or_default() += 1;
                let sent = String::from_utf8_lossy(&sent.data);
                answer(&parts.method, path, parts.uri.query().unwrap_or_default(), &sent)
            };
            let options = Arc::new(ServerOptions::default());
            serve(AcceptedConnection::plaintext(socket), options, service, std::future::pending())
                .await;
        });
    }
}

/// The path of registrations (TS 29.510 §6.1).
const NF_MANAGEMENT: &str = "/nnrf-nfm/v1/nf-instances/";

/// In bytes.
const MAX_BODY: usize = 64 << 10;

/// Answers a request. What a function stores it repeats as it was `sent`, callbacks included.
fn answer(method: &Method, path: &str, query: &str, sent: &str) -> Response<Body> {
    let last = path.rsplit('/').next().unwrap_or_default();
    if path.starts_with(NF_MANAGEMENT) {
        return match *method {
            Method::PUT => {
                json(StatusCode::CREATED, r#"{"nfStatus":"REGISTERED","heartBeatTimer":10}"#)
            }
            _ => empty(StatusCode::NO_CONTENT),
        };
    }
    match (method.as_str(), last) {
        ("GET", "nf-instances") if query.contains("target-nf-type=AUSF") => {
            json(StatusCode::OK, &discovered("AUSF", "nausf-auth"))
        }
        ("GET", "nf-instances") if query.contains("nudm-uecm") => {
            json(StatusCode::OK, &discovered("UDM", "nudm-uecm"))
        }
        ("GET", "nf-instances") => json(StatusCode::OK, &discovered("UDM", "nudm-sdm")),
        ("POST", "ue-authentications") => created(
            "http://ausf.5gc.mnc070.mcc999.3gppnetwork.org:80/nausf-auth/v1/ue-authentications/1",
            VECTOR,
        ),
        ("PUT", "5g-aka-confirmation") => json(StatusCode::OK, CONFIRMED),
        ("PUT", "amf-3gpp-access") => created(
            "http://udm.5gc.mnc070.mcc999.3gppnetwork.org:80/nudm-uecm/v1/imsi-999700000000001/registrations/amf-3gpp-access",
            sent,
        ),
        ("PATCH", "amf-3gpp-access") | ("DELETE", _) => empty(StatusCode::NO_CONTENT),
        ("GET", "am-data") => json(StatusCode::OK, AM_DATA),
        ("GET", "smf-select-data") => json(StatusCode::OK, SMF_SELECT_DATA),
        ("GET", "ue-context-in-smf-data") => json(StatusCode::OK, "{}"),
        ("GET", "sm-data") => json(StatusCode::OK, SM_DATA),
        ("POST", "sdm-subscriptions") => created(
            "http://udm.5gc.mnc070.mcc999.3gppnetwork.org:80/nudm-sdm/v2/imsi-999700000000001/sdm-subscriptions/1",
            // SdmSubscription (TS 29.503 §6.1.6.2.3).
            &sent.replacen('{', r#"{"subscriptionId":"1","#, 1),
        ),
        _ => empty(StatusCode::NOT_FOUND),
    }
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

fn json(status: StatusCode, text: &str) -> Response<Body> {
    let mut response = Response::new(Body::full(Bytes::copy_from_slice(text.as_bytes())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn created(location: &'static str, text: &str) -> Response<Body> {
    let mut response = json(StatusCode::CREATED, text);
    response.headers_mut().insert(LOCATION, HeaderValue::from_static(location));
    response
}

/// Returns a SearchResult (TS 29.510 §6.2.6.2.2) with one function.
fn discovered(kind: &str, service: &str) -> String {
    let name = format!("{}.5gc.mnc070.mcc999.3gppnetwork.org", kind.to_ascii_lowercase());
    let version = if service == "nudm-sdm" { "v2" } else { "v1" };
    format!(
        r#"{{"validityPeriod":3600,"nfInstances":[{{"nfInstanceId":"0b1c6e6e-3a2f-41f0-8d4e-5f0a7c2d9e10","nfType":"{kind}","nfStatus":"REGISTERED","plmnList":[{{"mcc":"999","mnc":"70"}}],"fqdn":"{name}","allowedPlmns":[{{"mcc":"001","mnc":"01"}},{{"mcc":"999","mnc":"70"}}],"allowedNfTypes":["AMF","SMF"],"priority":1,"capacity":100,"load":7,"nfServices":[{{"serviceInstanceId":"{service}-1","serviceName":"{service}","versions":[{{"apiVersionInUri":"{version}","apiFullVersion":"1.2.0"}}],"scheme":"http","nfServiceStatus":"REGISTERED","fqdn":"{name}","allowedNfTypes":["AMF","SMF"],"priority":1,"capacity":100,"load":7}}]}}]}}"#
    )
}

/// UEAuthenticationCtx (TS 29.509 §6.1.6.2.3), with made-up values.
const VECTOR: &str = r#"{"authType":"5G_AKA","5gAuthData":{"rand":"00112233445566778899aabbccddeeff","autn":"ffeeddccbbaa99887766554433221100","hxresStar":"0123456789abcdef0123456789abcdef"},"_links":{"5g-aka":{"href":"http://ausf.5gc.mnc070.mcc999.3gppnetwork.org:80/nausf-auth/v1/ue-authentications/1/5g-aka-confirmation"}}}"#;
/// ConfirmationDataResponse, with a made-up key.
const CONFIRMED: &str = r#"{"authResult":"AUTHENTICATION_SUCCESS","supi":"imsi-999700000000001","kseaf":"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"}"#;
const AM_DATA: &str = r#"{"gpsis":["msisdn-4917000000001"],"subscribedUeAmbr":{"uplink":"1048576 Kbps","downlink":"1048576 Kbps"},"nssai":{"defaultSingleNssais":[{"sst":1,"sd":"000001"}]}}"#;
const SMF_SELECT_DATA: &str = r#"{"subscribedSnssaiInfos":{"01-000001":{"dnnInfos":[{"dnn":"internet","lboRoamingAllowed":true}]}}}"#;
const SM_DATA: &str = r#"[{"singleNssai":{"sst":1,"sd":"000001"},"dnnConfigurations":{"internet":{"pduSessionTypes":{"defaultSessionType":"IPV4V6","allowedSessionTypes":["IPV4","IPV6","IPV4V6"]},"sscModes":{"defaultSscMode":"SSC_MODE_1","allowedSscModes":["SSC_MODE_1","SSC_MODE_2","SSC_MODE_3"]},"5gQosProfile":{"5qi":9,"arp":{"priorityLevel":8,"preemptCap":"NOT_PREEMPT","preemptVuln":"NOT_PREEMPTABLE"},"priorityLevel":8},"sessionAmbr":{"uplink":"1048576 Kbps","downlink":"1048576 Kbps"}}}}]"#;
