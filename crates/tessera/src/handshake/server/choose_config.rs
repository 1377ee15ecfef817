//! The configuration that serves a client.

use alloc::string::String;

use super::config::{ChooseConfig, NoConfig, ServerConfig};
use super::hello::Hello;
use super::retry_state::RetryState;
use super::stop::{Stop, answer};
use crate::error::protocol;
use crate::handshake::config::Checked;
use crate::wire::{AlertDescription, SignatureScheme};

/// Returns the owner's choice, asked for once per connection, on its first ClientHello.
pub(super) fn choose_config(
    first: &Checked<ServerConfig>,
    retry: Option<&RetryState>,
    hello: &Hello<'_>,
    chosen: &mut Option<Result<Checked<ServerConfig>, NoConfig>>,
) -> Result<Checked<ServerConfig>, Stop<ChooseConfig>> {
    // After a HelloRetryRequest of this connection the chooser has already been asked.
    let is_chosen = retry.is_some_and(|retry| retry.cookie.is_none());
    let Some(chooser) = first.chooser.as_ref().filter(|_| !is_chosen) else {
        return Ok(first.clone());
    };
    let ask = || {
        let question = question(hello);
        let reply = chooser.choose(&question);
        (question, reply)
    };
    let chosen = answer(chosen, ask)?;
    let config = chosen.as_ref().map_err(|NoConfig| match hello.parsed.server_name {
        Some(_) => {
            protocol(AlertDescription::UNRECOGNIZED_NAME, "no configuration for this server_name")
        }
        // RFC 8446 §9.2
        None => protocol(
            AlertDescription::MISSING_EXTENSION,
            "no configuration for a client without server_name",
        ),
    })?;
    Ok(config.clone())
}

fn question(hello: &Hello<'_>) -> ChooseConfig {
    let hello = &hello.parsed;
    let protocols = hello.protocols.into_iter().flat_map(|protocols| protocols.iter());
    let schemes =
        hello.certificates.signature_algorithms.into_iter().flat_map(|schemes| schemes.iter());
    ChooseConfig {
        server_name: hello.server_name.map(String::from),
        protocols: protocols.map(<[u8]>::to_vec).collect(),
        signature_schemes: schemes.map(SignatureScheme).collect(),
    }
}
