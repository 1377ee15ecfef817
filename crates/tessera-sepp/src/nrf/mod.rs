//! The local NRF: this SEPP registers there, sends heartbeats, and deregisters when it ends
//! (TS 29.510 §5.2.2.2, §5.2.2.3.2, §5.2.2.4). Nothing else waits for it.

mod profile;
#[cfg(test)]
mod tests;

use std::time::Duration;

use bytes::Bytes;
use fastrand::Rng;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use serde_json::Value;
use tessera_proxy::http::body::Body;
use tessera_proxy::http::deadline::Deadline;
use tessera_proxy::logging::tracing;
use tokio::sync::watch;
use tokio::time::sleep;

pub(crate) use self::profile::{instance_id, profile};
use crate::n32c::Backoff;

/// Access to the NRF; URIs of requests are only paths.
pub(crate) trait Nrf: Send + Sync {
    /// Sends a request. Returns the answer, or why there is none.
    fn send(
        &self,
        request: Request<Body>,
        deadline: Deadline,
    ) -> impl Future<Output = Result<Response<Body>, String>> + Send;

    /// Returns this SEPP's current NFProfile.
    fn profile(&self) -> Value;

    /// Records whether this SEPP is registered.
    fn is_registered(&self, is_registered: bool);
}

/// A SEPP's registration at its NRF.
pub(crate) struct Registration<N> {
    pub(crate) nrf: N,
    /// A UUID.
    pub(crate) instance_id: String,
    /// Unless the NRF asks for another interval.
    pub(crate) heartbeat: Duration,
}

/// What the NRF knows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RegistrationState {
    Nothing,
    /// A request to register was sent, and its outcome is unknown.
    Perhaps,
    /// It expects a heartbeat at this interval.
    Registered(Duration),
}

impl<N: Nrf> Registration<N> {
    /// Registers, and stays registered until shutdown; then it deregisters. `changes` is notified when the profile may
    /// have changed.
    pub(crate) async fn keep<C>(
        self,
        mut ending: watch::Receiver<bool>,
        mut changes: watch::Receiver<C>,
    ) {
        let mut backoff = Backoff::new(Rng::new());
        let mut known = RegistrationState::Nothing;
        let mut told = None;
        loop {
            let stepped = tokio::select! {
                stepped = self.step(&mut known) => stepped,
                _ = ending.wait_for(|ending| *ending) => break,
            };
            let wait = match stepped {
                Ok(wait) => {
                    if told.take().is_some() || backoff.has_failed() {
                        tracing::info!("the NRF answers again");
                    }
                    backoff.succeeded();
                    wait
                }
                // Log the first failure, and each different one.
                Err(why) => {
                    if told.as_ref() != Some(&why) {
                        tracing::warn!("the NRF: {why}");
                    }
                    told = Some(why);
                    backoff.after_failure(None)
                }
            };
            tokio::select! {
                () = sleep(wait) => {}
                changed = changes.changed(), if changes.has_changed().is_ok() => {
                    if changed.is_ok() && matches!(known, RegistrationState::Registered(_)) {
                        known = RegistrationState::Perhaps;
                    }
                }
                _ = ending.wait_for(|ending| *ending) => break,
            }
        }
        if known != RegistrationState::Nothing {
            self.leave().await;
        }
        self.nrf.is_registered(false);
    }

    /// Registers, or sends a heartbeat. Returns when to do so again.
    async fn step(&self, known: &mut RegistrationState) -> Result<Duration, String> {
        if let RegistrationState::Registered(heartbeat) = *known {
            match self.live().await {
                Ok(true) => return Ok(heartbeat),
                // The NRF lost the registration, for example in a restart.
                Ok(false) => *known = RegistrationState::Nothing,
                Err(why) => {
                    self.nrf.is_registered(false);
                    return Err(why);
                }
            }
        }
        self.nrf.is_registered(false);
        *known = RegistrationState::Perhaps;
        let heartbeat = self.register().await?;
        *known = RegistrationState::Registered(heartbeat);
        self.nrf.is_registered(true);
        tracing::info!(instance_id = self.instance_id, ?heartbeat, "registered at the NRF");
        Ok(heartbeat)
    }

    async fn register(&self) -> Result<Duration, String> {
        let mut profile = self.nrf.profile();
        profile["nfInstanceId"] = self.instance_id.as_str().into();
        profile["heartBeatTimer"] = self.heartbeat.as_secs().max(1).into();
        let answer = self.ask(Method::PUT, "application/json", profile.to_string()).await?;
        let status = answer.status();
        if status != StatusCode::CREATED && status != StatusCode::OK {
            return Err(format!(
                "it refused the registration with {status}; see its log, and [nrf] uri"
            ));
        }
        let body = answer.into_body().collect_up_to(MAX_BODY).await;
        let body = body.map_err(|error| error.to_string())?.data;
        let asked = serde_json::from_slice::<Value>(&body).ok();
        let asked = asked.and_then(|profile| profile["heartBeatTimer"].as_u64());
        Ok(asked.map_or(self.heartbeat, |seconds| Duration::from_secs(seconds.clamp(1, LONGEST))))
    }

    /// Sends a heartbeat. Returns whether the NRF still knows this SEPP.
    async fn live(&self) -> Result<bool, String> {
        let patch = r#"[{"op":"replace","path":"/nfStatus","value":"REGISTERED"}]"#;
        let answer = self.ask(Method::PATCH, "application/json-patch+json", patch.into()).await?;
        match answer.status() {
            StatusCode::OK | StatusCode::NO_CONTENT => Ok(true),
            StatusCode::NOT_FOUND => Ok(false),
            status => Err(format!("it refused the heartbeat: {status}")),
        }
    }

    async fn leave(&self) {
        match self.ask(Method::DELETE, "", String::new()).await {
            Ok(answer) if answer.status().is_success() => tracing::info!("deregistered at the NRF"),
            Ok(answer) => tracing::warn!("the NRF refused the deregistration: {}", answer.status()),
            Err(why) => tracing::warn!("could not deregister at the NRF: {why}"),
        }
    }

    async fn ask(
        &self,
        method: Method,
        content_type: &'static str,
        body: String,
    ) -> Result<Response<Body>, String> {
        let deadline = if method == Method::DELETE { FAREWELL } else { PATIENCE };
        let body = if body.is_empty() { Body::empty() } else { Body::full(Bytes::from(body)) };
        let mut request = Request::new(body);
        *request.method_mut() = method;
        let path = format!("/nnrf-nfm/v1/nf-instances/{}", self.instance_id);
        *request.uri_mut() = path.parse().map_err(|_| "its path is invalid".to_owned())?;
        if !content_type.is_empty() {
            request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        }
        self.nrf.send(request, Deadline::after(deadline)).await
    }
}

/// The timeout of an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The timeout of the last one: the process is ending.
const FAREWELL: Duration = Duration::from_secs(2);

/// The longest heartbeat interval, in seconds.
const LONGEST: u64 = 3600;

/// The maximum length of an answer, in bytes.
const MAX_BODY: usize = 64 << 10;
