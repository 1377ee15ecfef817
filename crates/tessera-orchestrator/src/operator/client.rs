//! A client of the API.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, StatusCode, Uri};
use tessera::ClientConfig;
use tessera_bindings::DrainScope;
use tessera_kit::{ProgramError, SettingFile, credential, trust};
use tessera_proxy::address::DialAddress;
use tessera_proxy::http::body::{Body, BodyLimits};
use tessera_proxy::http::client::{Call, Pool, PoolOptions, Tls};
use tessera_proxy::http::deadline::Deadline;
use tessera_tokio::Connector;

use crate::state::{Problem, percent_encoded};

/// Where the API is, and with which certificates it is called.
#[derive(Debug, Clone)]
pub struct ApiAddress {
    /// Where the orchestrator listens.
    pub server: DialAddress,
    /// The name in its certificate; none: the host of `server`.
    pub server_name: Option<String>,
    /// The roots for its certificate, PEM.
    pub ca: PathBuf,
    /// The operator's certificate, PEM.
    pub certificate: PathBuf,
    /// Its private key; none: in the file of the certificate.
    pub key: Option<PathBuf>,
}

/// A client of the API, on a connection that stays open.
pub struct ApiClient {
    pool: Pool,
    address: ApiAddress,
    authority: String,
}

/// What the API answers.
#[derive(Debug, Clone)]
pub struct ApiAnswer {
    /// The status.
    pub status: StatusCode,
    /// The body.
    pub body: Vec<u8>,
}

/// The most bytes of an answer.
const MOST_BYTES: usize = 64 << 20;

/// How long the server may be silent in an answer.
const IDLE: Duration = Duration::from_secs(30);

impl ApiClient {
    /// Reads the certificates. Nothing is connected before the first call.
    ///
    /// # Errors
    /// If a file can't be read or is invalid.
    pub fn open(address: ApiAddress) -> Result<Self, ProgramError> {
        let verifier = trust::roots(SettingFile { setting: "--ca", path: &address.ca })?;
        let own = credential::load(
            SettingFile { setting: "--certificate", path: &address.certificate },
            SettingFile {
                setting: "--key",
                path: address.key.as_ref().unwrap_or(&address.certificate),
            },
        )?;
        let mut config = ClientConfig::new(tessera_aws_lc::provider(), Arc::new(verifier));
        config.credentials = vec![own];
        config.protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let mut tls = Tls::new(Connector::new(config.checked()?));
        let host = address.server_name.clone().or_else(|| address.server.host());
        let Some(host) = host else {
            return Err(ProgramError::settings(
                "--server-name: a Unix socket has no host: set the name in the orchestrator's certificate",
            ));
        };
        tls = tls.named(host.clone());
        // An IPv6 address is in brackets there.
        let authority = if host.contains(':') { format!("[{host}]") } else { host };
        let body = BodyLimits { max_len: MOST_BYTES as u64, idle: IDLE };
        let options = PoolOptions { body, ..PoolOptions::default() };
        let pool = Pool::new(Arc::new(tls), address.server.clone(), options);
        Ok(Self { pool, address, authority })
    }

    /// Sends a request, with a JSON body if there is one.
    ///
    /// # Errors
    /// If there is no answer within `longest`. The request may have been executed: each may be repeated.
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
        longest: Duration,
    ) -> Result<ApiAnswer, ProgramError> {
        let failed = |why: &dyn std::fmt::Display| {
            let server = &self.address.server;
            ProgramError::Failed(format!("the orchestrator at {server}: {why}"))
        };
        let uri = format!("https://{}{path}", self.authority);
        let uri: Uri = uri.parse().map_err(|error: http::uri::InvalidUri| failed(&error))?;
        let has_body = body.is_some();
        let mut request = Request::new(Body::full(body.unwrap_or_default().into()));
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        if has_body {
            let kind = HeaderValue::from_static("application/json");
            request.headers_mut().insert(CONTENT_TYPE, kind);
        }
        let call = Call::until(Deadline::after(longest)).repeatable();
        let answer = self.pool.call(request, call).await.map_err(|error| failed(&error))?;
        let status = answer.response.status();
        let body = answer.response.into_body().collect_up_to(MOST_BYTES).await;
        let body = body.map_err(|error| failed(&error))?.data.to_vec();
        Ok(ApiAnswer { status, body })
    }
}

impl ApiAnswer {
    /// Returns the body of a success.
    ///
    /// # Errors
    /// The refusal.
    pub fn success(self) -> Result<Vec<u8>, ProgramError> {
        if self.status.is_success() {
            return Ok(self.body);
        }
        let why = match serde_json::from_slice::<Problem>(&self.body) {
            Ok(Problem { detail, retry_after_ms: Some(wait), .. }) if !detail.contains(" ms") => {
                format!("{detail} (retry within {wait} ms)")
            }
            Ok(problem) => problem.detail,
            Err(_) => self.status.to_string(),
        };
        // It is of another process.
        Err(ProgramError::Failed(why.chars().filter(|it| !it.is_control()).collect()))
    }
}

/// Returns the path of a client; `action` follows it: `/abort`, or nothing.
#[must_use]
pub fn client_path(client: &[u8], action: &str) -> String {
    format!("/clients/{}{action}", percent_encoded(client))
}

/// Returns the path that drains a proxy, or evacuates a site.
#[must_use]
pub fn drain_path(scope: &DrainScope) -> String {
    let encode = |name: &str| percent_encoded(name.as_bytes());
    match scope {
        DrainScope::Proxy(proxy) => format!("/proxies/{}/drain", encode(&proxy.0)),
        DrainScope::Site(site) => format!("/sites/{}/evacuate", encode(site)),
    }
}
