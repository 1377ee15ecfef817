//! Reports configuration errors by the name of the option: the engine knows only its own fields.

use tessera_kit::ProgramError;

/// Names the option that caused a configuration error.
pub(crate) fn by_option(error: tessera::Error) -> ProgramError {
    let tessera::Error::Configuration(what) = error else { return error.into() };
    let Some((field, advice)) = what.split_once(": ") else { return error.into() };
    let option = OPTIONS.iter().find(|(name, _)| *name == field);
    ProgramError::settings(match option {
        Some((_, option)) => {
            format!("{option}: {}", advice.replace("the configuration's suites", "--suites"))
        }
        None => what.to_owned(),
    })
}

/// As [`by_option`], for a stream that can't begin.
pub(crate) fn start_by_option(error: &std::io::Error) -> ProgramError {
    match error.get_ref().and_then(|error| error.downcast_ref::<tessera::Error>()) {
        Some(error) => by_option(error.clone()),
        None => ProgramError::settings(error.to_string()),
    }
}

/// The fields of the engine's configuration that options set.
const OPTIONS: &[(&str, &str)] = &[
    ("groups", "--groups"),
    ("suites", "--suites"),
    ("protocols", "--alpn"),
    ("record_size_limit", "--record-size-limit"),
    ("handshake_timeout", "--handshake-timeout"),
    ("ticket_lifetime", "--ticket-lifetime"),
    ("server_name", "--server-name (or the host)"),
    ("external_psks", "--psk, --psk-file"),
    ("an importable PSK", "--psk, --psk-file, --psk-context"),
    ("known_server_key", "--known-key"),
    ("credentials", "--certificate"),
    ("verifier", "--ca"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configuration_errors_name_the_option() {
        let text = |what| by_option(tessera::Error::Configuration(what)).to_string();
        assert_eq!(text("groups: at most 64, each once"), "--groups: at most 64, each once");
        assert_eq!(text("scope: at most 256 bytes"), "scope: at most 256 bytes");
        let suites = "known_server_key: add a suite with SHA-256 to the configuration's suites";
        assert_eq!(text(suites), "--known-key: add a suite with SHA-256 to --suites");
    }
}
