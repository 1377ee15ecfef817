//! Clients' state to and from the instances of services.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode};
use tessera_bindings::{ClientName, Generation};
use tessera_kit::clock::unix;
use tessera_proxy::http::body::Body;
use tessera_proxy::http::client::Call;
use tessera_proxy::http::deadline::Deadline;

use super::Edge;
use crate::fields::{self, STATE_VERSION};
use crate::services::Service;
use crate::state::{ClientState, ServiceState};

/// How long an instance may take to export or import.
const INSTANCE: Duration = Duration::from_secs(2);

impl Edge {
    /// Whether any service has state.
    pub(crate) fn has_state(&self) -> bool {
        self.services().iter().any(|service| service.state.is_some())
    }

    /// Exports a client's state from all services.
    pub(super) async fn export(&self, name: &ClientName) -> Result<ClientState, String> {
        let mut state = ClientState::default();
        for service in self.services().iter() {
            if let Some(path) = &service.state
                && let Some(exported) = export(service, path, name).await?
            {
                state.0.push(exported);
            }
        }
        match state.fits() {
            true => Ok(state),
            false => Err(format!("it is longer than {} KiB", ClientState::LONGEST / 1024)),
        }
    }

    /// Opens a client's state that another proxy sealed for this move, and imports it at all services. Returns its version.
    pub(crate) async fn import(
        &self,
        name: &ClientName,
        generation: Generation,
        sealed: &[u8],
    ) -> Result<u64, String> {
        if sealed.is_empty() {
            return Ok(0);
        }
        let opened = ClientState::open(sealed, &self.state_keys, name, generation, unix());
        let state =
            opened.map_err(|why| format!("the other proxy's state can't be used: {why:?}"))?;
        let services = self.services();
        for part in &state.0 {
            let service = services.iter().find(|service| service.name == part.service);
            let place = service.and_then(|service| Some((service, service.state.as_ref()?)));
            let Some((service, path)) = place else {
                return Err(format!("the service {} has no state here", part.service));
            };
            import(service, path, name, part).await?;
        }
        Ok(state.version())
    }
}

async fn export(
    service: &Service,
    path: &str,
    name: &ClientName,
) -> Result<Option<ServiceState>, String> {
    let answer = call(service, Method::GET, path, name, None).await?;
    let response = answer;
    let failed = |what: &str| format!("{}: {what}", service.name);
    match response.status() {
        StatusCode::OK => (),
        StatusCode::NO_CONTENT | StatusCode::NOT_FOUND => return Ok(None),
        other => return Err(failed(&format!("its instance answered {other} to an export"))),
    }
    let version =
        response.headers().get(STATE_VERSION).and_then(|it| it.to_str().ok()?.parse().ok());
    let Some(version) = version else {
        return Err(failed("its instance exported without the field tessera-state-version"));
    };
    let data = response.into_body().collect_up_to(ClientState::LONGEST).await;
    let data = data.map_err(|error| failed(&error.to_string()))?.data;
    Ok(Some(ServiceState { service: service.name.clone(), version, data }))
}

async fn import(
    service: &Service,
    path: &str,
    name: &ClientName,
    part: &ServiceState,
) -> Result<(), String> {
    let response = call(service, Method::PUT, path, name, Some(part)).await?;
    match response.status().is_success() {
        true => Ok(()),
        false => Err(format!(
            "{}: its instance answered {} to an import",
            service.name,
            response.status()
        )),
    }
}

async fn call(
    service: &Service,
    method: Method,
    path: &str,
    name: &ClientName,
    part: Option<&ServiceState>,
) -> Result<http::Response<Body>, String> {
    let path = format!("{}/{}", path.trim_end_matches('/'), fields::percent_encoded(name));
    let body = part.map_or_else(Bytes::new, |part| part.data.clone());
    let mut request = Request::new(Body::full(body));
    *request.method_mut() = method;
    let uri = format!("http://{}{path}", service.any_host());
    *request.uri_mut() = uri.parse().map_err(|error| format!("{}: {error}", service.name))?;
    if let Some(part) = part {
        request.headers_mut().insert(STATE_VERSION, HeaderValue::from(part.version));
    }
    let call = Call::until(Deadline::after(INSTANCE)).repeatable();
    let answer = service.instances.call(request, call).await;
    answer.map(|answer| answer.response).map_err(|error| format!("{}: {error}", service.name))
}
