//! What the API's requests and answers hold, as JSON.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use serde::{Deserialize, Serialize};
use tessera_bindings::{Binding, BindingError, ClientName, ProxyName};
use tessera_kit::hex;

/// The body of `POST /moves`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "MoveKeys", into = "MoveKeys")]
pub struct RequestedMove {
    /// The client.
    pub client: JsonClient,
    /// Where it moves.
    pub to: MoveTarget,
    /// What to wait for.
    pub wait: WaitFor,
    /// Whether to wait until the client can move, in place of an earlier request that waits.
    pub queue: bool,
}

/// The keys of a move in one table: a flattened one can't refuse those that are unknown.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MoveKeys {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_hex: Option<String>,
    to: MoveTarget,
    #[serde(default)]
    wait: WaitFor,
    #[serde(default)]
    queue: bool,
}

/// The body of a request that has none, or an empty table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoKeys {}

/// A client's name: `client` if it is text, else `client_hex`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JsonClient {
    /// The name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// Its bytes in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_hex: Option<String>,
}

/// Where a client moves: `"auto"`, or the name of a proxy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum MoveTarget {
    /// To the proxy with the fewest clients, or not at all if that is little better.
    Auto,
    /// To this proxy.
    Proxy(ProxyName),
}

/// When a request to move a client is answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitFor {
    /// Once the next proxy has prepared, and the client is sent there.
    #[default]
    Announced,
    /// Once the client's first request has come there.
    Switched,
    /// Once the move has begun.
    None,
}

/// A client and its binding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientBinding {
    /// The client.
    #[serde(flatten)]
    pub client: JsonClient,
    /// Its binding.
    #[serde(flatten)]
    pub binding: Binding,
}

/// A live proxy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProxyState {
    /// Its name.
    pub name: ProxyName,
    /// Its site.
    pub site: String,
    /// Where clients reach it.
    pub authority: String,
    /// The clients that it serves.
    pub clients: usize,
    /// Those of them that are moving to another proxy: they are served here until they have come there.
    #[serde(default)]
    pub leaving: usize,
    /// The clients of other proxies that are moving here.
    #[serde(default)]
    pub arriving: usize,
    /// Whether it, or its site, is drained.
    pub draining: bool,
}

/// Moves that aren't settled: at most 1000 of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovesState {
    /// How many there are.
    pub count: usize,
    /// The first ones.
    pub moves: Vec<ClientBinding>,
}

/// What `GET /clients` shows: a page of the clients with a binding, in the order of their names' bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientsState {
    /// The clients.
    pub clients: Vec<ClientBinding>,
    /// If there are more, the parameter `after` of the next page: the last client's name, percent-encoded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// What `GET /status` shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolState {
    /// Whether this orchestrator follows the store; otherwise the rest is as it was last read.
    pub is_current: bool,
    /// Clients with a binding.
    pub clients: usize,
    /// Those that are moving and haven't switched.
    pub moves: usize,
    /// Requests that wait here until their clients can move.
    pub waiting: usize,
    /// The live proxies, by name.
    pub proxies: Vec<ProxyState>,
    /// The drains, by name: of proxies that aren't live as well.
    pub drains: Vec<DrainState>,
    /// Sentences for operators: settings in which the pool's proxies and this orchestrator differ, though they must not.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// A drain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrainState {
    /// `proxy` or `site`.
    pub scope: String,
    /// The name of the proxy or site.
    pub name: String,
    /// When it began, in milliseconds since the Unix epoch.
    pub since: u64,
}

/// A refusal, in the form of RFC 9457.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// The status in words.
    pub title: String,
    /// What is wrong, and what to do.
    pub detail: String,
    /// The kind of refusal, for programs.
    pub cause: String,
    /// The client's current generation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// Where the client is, or moves at the moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<ProxyName>,
    /// When to try again; at the latest, if another move is in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl From<MoveKeys> for RequestedMove {
    fn from(keys: MoveKeys) -> Self {
        let MoveKeys { client, client_hex, to, wait, queue } = keys;
        Self { client: JsonClient { client, client_hex }, to, wait, queue }
    }
}

impl From<RequestedMove> for MoveKeys {
    fn from(requested: RequestedMove) -> Self {
        let RequestedMove { client: JsonClient { client, client_hex }, to, wait, queue } =
            requested;
        Self { client, client_hex, to, wait, queue }
    }
}

impl From<String> for MoveTarget {
    fn from(text: String) -> Self {
        if text == "auto" { Self::Auto } else { Self::Proxy(ProxyName(text)) }
    }
}

impl From<MoveTarget> for String {
    fn from(target: MoveTarget) -> Self {
        match target {
            MoveTarget::Auto => "auto".to_owned(),
            MoveTarget::Proxy(name) => name.0,
        }
    }
}

impl From<&ClientName> for JsonClient {
    fn from(name: &ClientName) -> Self {
        match str::from_utf8(name.as_bytes()) {
            Ok(text) => Self { client: Some(text.to_owned()), client_hex: None },
            Err(_) => Self { client: None, client_hex: Some(hex::encode(name.as_bytes())) },
        }
    }
}

impl JsonClient {
    /// Returns the name.
    ///
    /// # Errors
    /// If there is not exactly one, or it is not hexadecimal, empty or too long.
    pub fn name(&self) -> Result<ClientName, BindingError> {
        match (&self.client, &self.client_hex) {
            (Some(text), None) => ClientName::new(text.as_bytes()),
            (None, Some(digits)) => match hex::decode(digits) {
                Some(bytes) => ClientName::new(bytes.to_vec()),
                None => Err(BindingError::Name("`client_hex` must be hexadecimal".to_owned())),
            },
            _ => Err(BindingError::Name(
                "set `client` to the client's name, or `client_hex` to its bytes".to_owned(),
            )),
        }
    }

    /// Returns the name for people, without control characters.
    #[must_use]
    pub fn text(&self) -> String {
        match (&self.client, &self.client_hex) {
            (Some(text), _) => text.escape_debug().to_string(),
            (None, Some(digits)) => format!("hex:{digits}"),
            (None, None) => String::new(),
        }
    }
}

/// What stays as it is in the segment of a path (RFC 3986 §2.3).
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Returns a name as it is in a path or a query.
pub(crate) fn percent_encoded(name: &[u8]) -> String {
    percent_encode(name, UNRESERVED).to_string()
}

/// Returns a client's name for a log.
pub(crate) fn shown(client: &ClientName) -> String {
    JsonClient::from(client).text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_not_text_is_hexadecimal_and_comes_back() {
        for bytes in [&b"a b\n"[..], "über".as_bytes(), &[0xff, 0]] {
            let name = ClientName::new(bytes).unwrap();
            let json = JsonClient::from(&name);
            assert_eq!(json.client.is_some(), str::from_utf8(bytes).is_ok());
            assert_eq!(json.name().unwrap(), name);
            assert!(!shown(&name).contains('\n'));
        }
        for wrong in [
            JsonClient::default(),
            JsonClient { client: Some("a".into()), client_hex: Some("61".into()) },
            JsonClient { client_hex: Some("6".into()), ..JsonClient::default() },
            JsonClient { client: Some(String::new()), ..JsonClient::default() },
        ] {
            assert!(wrong.name().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_binding_keeps_its_form_next_to_the_name() {
        let owner = ProxyName("a".into());
        let binding = Binding::new(owner, std::time::Duration::from_millis(7));
        let client = JsonClient::from(&ClientName::new("drone").unwrap());
        let json = serde_json::to_string(&ClientBinding { client, binding: binding.clone() });
        let json = json.unwrap();
        assert!(json.starts_with("{\"client\":\"drone\",\"generation\":7,"), "{json}");
        assert_eq!(serde_json::from_str::<ClientBinding>(&json).unwrap().binding, binding);
    }
}
