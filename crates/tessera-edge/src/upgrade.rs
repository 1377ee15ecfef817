//! Requests that may switch to another protocol: WebSockets.

use http::{Request, Response};
use tessera_proxy::http::body::Body;
use tessera_proxy::http::client::{Call, CallError, Pool, Protocol, UpgradeOutcome};
use tessera_proxy::http::server::UpgradeRequest;

/// Sends a request. If it asks for another protocol and the server switches, the response binds the two streams. Upgrades are
/// sent in this version of HTTP.
pub(crate) async fn call_or_upgrade(
    pool: &Pool,
    mut request: Request<Body>,
    call: Call,
    version: Protocol,
) -> Result<Response<Body>, CallError> {
    let Some(upgrade) = UpgradeRequest::take(&mut request) else {
        return pool.call(request, call).await.map(|answer| answer.response);
    };
    let protocol = upgrade.protocol();
    let answer = match version {
        Protocol::Http1 => pool.upgrade(request, protocol, call).await?,
        Protocol::Http2 => pool.extended_connect(request, protocol, call).await?,
    };
    Ok(match answer.outcome {
        UpgradeOutcome::Switched(response, stream) => upgrade.accept(response, stream),
        UpgradeOutcome::Refused(response) => response,
    })
}
