//! The commands of an operator: requests to the API of a running orchestrator.

mod client;
mod text;

use std::fmt::Display;
use std::time::Duration;

use http::Method;
use serde::de::DeserializeOwned;
pub use tessera_bindings::{DrainScope, ProxyName};
use tessera_kit::{ProgramError, report, runtime};

pub use self::client::{ApiAddress, ApiAnswer, ApiClient, client_path, drain_path};
use crate::state::{ClientBinding, ClientsState, PoolState, RequestedMove};

/// How long a request without a wait may take.
const SHORT: Duration = Duration::from_secs(30);

/// How long a move may take: the orchestrator's own limits are shorter, unless its times are unusual.
const LONG: Duration = Duration::from_secs(600);

/// Moves a client, and prints its binding.
///
/// # Errors
/// If the orchestrator can't be reached, or refuses.
pub fn request_move(
    address: ApiAddress,
    requested: &RequestedMove,
    json: bool,
) -> Result<(), ProgramError> {
    let body = serde_json::to_vec(requested);
    let body = body.map_err(|error| ProgramError::failed("the request", error))?;
    let body = call(address, Method::POST, "/moves", Some(body), LONG)?;
    print_binding(&body, json)
}

/// Gives the move of a client up, and prints its binding.
///
/// # Errors
/// If the orchestrator can't be reached, or refuses.
pub fn abort(address: ApiAddress, client: &[u8], json: bool) -> Result<(), ProgramError> {
    let body = call(address, Method::POST, &client_path(client, "/abort"), None, SHORT)?;
    print_binding(&body, json)
}

/// Drains a proxy or a site, or ends that.
///
/// # Errors
/// If the orchestrator can't be reached, or refuses.
pub fn drain(address: ApiAddress, scope: &DrainScope, undo: bool) -> Result<(), ProgramError> {
    let method = if undo { Method::DELETE } else { Method::POST };
    call(address, method, &drain_path(scope), None, SHORT)?;
    let line = match undo {
        false => format!("The clients of {scope} are moved; `status` shows how many are left."),
        true => format!("{scope} takes clients again."),
    };
    report::print(format!("{}\n", text::printable(&line)))
}

/// Prints the state of the pool, or the binding of a client. Returns whether the orchestrator follows the store.
///
/// # Errors
/// If the orchestrator can't be reached, or the client has no binding.
pub fn status(
    address: ApiAddress,
    client: Option<&[u8]>,
    json: bool,
) -> Result<bool, ProgramError> {
    if let Some(client) = client {
        let body = call(address, Method::GET, &client_path(client, ""), None, SHORT)?;
        return print_binding(&body, json).map(|()| true);
    }
    let body = call(address, Method::GET, "/status", None, SHORT)?;
    let state: PoolState = parsed(&body)?;
    report::print(if json { raw(&body)? } else { text::pool(&state) })?;
    Ok(state.is_current)
}

/// Prints each client of the pool with its binding, in the order of their names.
///
/// # Errors
/// If the orchestrator can't be reached.
pub fn clients(address: ApiAddress, json: bool) -> Result<(), ProgramError> {
    runtime::run(async {
        let client = ApiClient::open(address)?;
        let mut path = "/clients?limit=1000".to_owned();
        loop {
            let answer = client.call(Method::GET, &path, None, SHORT).await?.success()?;
            let page: ClientsState = parsed(&answer)?;
            for shown in &page.clients {
                report::print(match json {
                    true => raw(&serde_json::to_vec(shown).map_err(unreadable)?)?,
                    false => text::binding(shown),
                })?;
            }
            match page.after {
                Some(after) => path = format!("/clients?limit=1000&after={after}"),
                None => return Ok(()),
            }
        }
    })
}

fn print_binding(body: &[u8], json: bool) -> Result<(), ProgramError> {
    let binding: ClientBinding = parsed(body)?;
    report::print(if json { raw(body)? } else { text::binding(&binding) })
}

fn call(
    address: ApiAddress,
    method: Method,
    path: &str,
    body: Option<Vec<u8>>,
    longest: Duration,
) -> Result<Vec<u8>, ProgramError> {
    let mut answer = None;
    runtime::run(async {
        let client = ApiClient::open(address)?;
        answer = Some(client.call(method, path, body, longest).await?.success()?);
        Ok(())
    })?;
    Ok(answer.unwrap_or_default())
}

fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, ProgramError> {
    serde_json::from_slice(body).map_err(unreadable)
}

fn raw(body: &[u8]) -> Result<String, ProgramError> {
    str::from_utf8(body).map(|text| format!("{text}\n")).map_err(unreadable)
}

fn unreadable(error: impl Display) -> ProgramError {
    ProgramError::failed("the orchestrator's answer", error)
}
