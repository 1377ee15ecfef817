//! Clients' state to and from the instances of services.

use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode};
use tessera_bindings::{ClientName, Fence, Generation};
use tessera_kit::clock::unix;
use tessera_proxy::http::body::Body;
use tessera_proxy::http::client::Call;
use tessera_proxy::http::deadline::Deadline;
use tessera_proxy::logging::tracing;

use super::Edge;
use crate::fields::{self, STATE_VERSION};
use crate::metrics::MoveStep;
use crate::services::Service;
use crate::state::{ClientState, ServiceState};

impl Edge {
    /// Whether any service has state.
    pub(crate) fn has_state(&self) -> bool {
        self.services().iter().any(|service| service.state.is_some())
    }

    /// Exports a client's state from all services.
    pub(super) async fn export(
        &self,
        name: &ClientName,
        fence: Fence,
        deadline: Deadline,
    ) -> Result<ClientState, String> {
        let mut state = ClientState::default();
        for service in self.services().iter() {
            if let Some(path) = &service.state
                && let Some(exported) =
                    export(service, path, StateCall { name, fence, deadline }).await?
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
        fence: Fence,
        sealed: &[u8],
        deadline: Deadline,
    ) -> Result<u64, String> {
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
            import(service, path, StateCall { name, fence, deadline }, part).await?;
        }
        let has_none = |service: &str| state.0.iter().all(|part| part.service != service);
        // Those may have something from the time when the client was here last.
        self.forget_where(&has_none, StateCall { name, fence, deadline }).await;
        Ok(state.version())
    }

    /// Has all services forget what they have of a client from before its owner began to own it, since that one is dead. Returns
    /// whether all instances served that one, too, and so have the client's state.
    pub(crate) async fn forget(&self, name: &ClientName, fence: Fence, deadline: Deadline) -> bool {
        self.forget_where(&|_| true, StateCall { name, fence, deadline }).await
    }

    async fn forget_where(
        &self,
        is_it: &(dyn Fn(&str) -> bool + Sync),
        call: StateCall<'_>,
    ) -> bool {
        let mut have_all = true;
        for service in self.services().iter() {
            let Some(path) = service.state.as_ref().filter(|_| is_it(&service.name)) else {
                continue;
            };
            match forget(service, path, call).await {
                Ok(Forgetting::HasLater) => {}
                Ok(Forgetting::Done) => have_all = false,
                Err(why) => {
                    have_all = false;
                    self.metrics.step(MoveStep::NotForgotten);
                    tracing::warn!(
                        client = %String::from_utf8_lossy(call.name.as_bytes()),
                        "the client may be served with state of an earlier time: {why}"
                    );
                }
            }
        }
        have_all
    }
}

/// What became of a request to forget a client.
enum Forgetting {
    /// The instance has no state of the client now.
    Done,
    /// It has a later one, and keeps it.
    HasLater,
}

/// An export, an import or a request to forget.
#[derive(Clone, Copy)]
struct StateCall<'c> {
    name: &'c ClientName,
    fence: Fence,
    deadline: Deadline,
}

async fn export(
    service: &Service,
    path: &str,
    call: StateCall<'_>,
) -> Result<Option<ServiceState>, String> {
    let response = call.send(service, Method::GET, path, None).await?;
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
    let data = response.into_body().collect_up_to(ClientState::LONGEST);
    let data = call.deadline.limit(data).await.map_err(|_| failed("its instance is too slow"))?;
    let data = data.map_err(|error| failed(&error.to_string()))?.data;
    Ok(Some(ServiceState { service: service.name.clone(), version, data }))
}

async fn import(
    service: &Service,
    path: &str,
    call: StateCall<'_>,
    part: &ServiceState,
) -> Result<(), String> {
    let response = call.send(service, Method::PUT, path, Some(part)).await?;
    let (status, headers) = (response.status(), response.headers());
    if fields::is_fenced_off(status, headers) {
        // It has this state or a later one: it also serves the client's owner, or the move is over.
        return Ok(());
    }
    let failed = |what: &str| Err(format!("{}: its instance {what}", service.name));
    match status.is_success() {
        true if fields::has_compared(headers, call.fence) => Ok(()),
        true => failed(
            "didn't confirm tessera-fence, so an import that comes late could replace newer state: see docs/edge.md",
        ),
        false => failed(&format!("answered {status} to an import")),
    }
}

async fn forget(service: &Service, path: &str, call: StateCall<'_>) -> Result<Forgetting, String> {
    let response = call.send(service, Method::DELETE, path, None).await?;
    let (status, headers) = (response.status(), response.headers());
    if fields::is_fenced_off(status, headers) {
        return Ok(Forgetting::HasLater);
    }
    let has_none = status.is_success() || status == StatusCode::NOT_FOUND;
    match has_none && fields::has_compared(headers, call.fence) {
        true => Ok(Forgetting::Done),
        false => Err(format!(
            "{}: its instance answered {status} to a DELETE, or didn't confirm tessera-fence: see docs/edge.md",
            service.name
        )),
    }
}

impl StateCall<'_> {
    async fn send(
        self,
        service: &Service,
        method: Method,
        path: &str,
        part: Option<&ServiceState>,
    ) -> Result<http::Response<Body>, String> {
        let client = fields::percent_encoded(self.name);
        let path = format!("{}/{client}", path.trim_end_matches('/'));
        let body = part.map_or_else(Bytes::new, |part| part.data.clone());
        let mut request = Request::new(Body::full(body));
        *request.method_mut() = method;
        let uri = format!("http://{}{path}", service.any_host());
        *request.uri_mut() = uri.parse().map_err(|error| format!("{}: {error}", service.name))?;
        fields::add_fence(request.headers_mut(), self.fence);
        if let Some(part) = part {
            request.headers_mut().insert(STATE_VERSION, HeaderValue::from(part.version));
        }
        let call = Call::until(self.deadline).repeatable();
        let answer = service.instances.call(request, call).await;
        answer.map(|answer| answer.response).map_err(|error| format!("{}: {error}", service.name))
    }
}
