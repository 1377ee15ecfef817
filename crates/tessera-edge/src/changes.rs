//! Which changes of a configuration must wait for a restart.

use tessera_kit::ProgramError;
use tessera_proxy::changes::PendingChanges;
use tessera_proxy::lasting;

use crate::config::{ClientsSection, EdgeConfig, PeersSection, ProxySection};

lasting!(ProxySection: name, site, listen, announce, one_time_keys);
lasting!(PeersSection: listen, address);
// A proxy whose clients' names change would serve others' state.
lasting!(ClientsSection: named_by, cookie, bound, bound_per_address, idle);

/// Resets settings that can't change while the process runs to their running values, and returns them.
pub(crate) fn keep(running: &EdgeConfig, wanted: &mut EdgeConfig) -> PendingChanges {
    let mut waiting = PendingChanges::default();
    waiting.keep_in("process", &running.process, &mut wanted.process);
    waiting.keep("[pool]", &running.pool, &mut wanted.pool);
    waiting.keep_in("proxy", &running.proxy, &mut wanted.proxy);
    let (own, new) = (&running.proxy, &mut wanted.proxy);
    match (&own.signer, &mut new.signer) {
        (Some(own), Some(new)) => {
            waiting.keep("[proxy] signer.servers", &own.servers, &mut new.servers);
        }
        (None, None) => (),
        // Where the key is, and the certificate that fits it.
        (_, signer) => {
            waiting.keep("[proxy] signer", &own.signer, signer);
            waiting.keep("[proxy] key", &own.key, &mut new.key);
            waiting.keep("[proxy] certificate", &own.certificate, &mut new.certificate);
        }
    }
    waiting.keep("[envoys]", &running.envoys, &mut wanted.envoys);
    waiting.keep_in("peers", &running.peers, &mut wanted.peers);
    if running.clients.named_by != wanted.clients.named_by {
        waiting.keep("[clients] ca", &running.clients.ca, &mut wanted.clients.ca);
    }
    waiting.keep_in("clients", &running.clients, &mut wanted.clients);
    waiting.keep("[ext-authz]", &running.ext_authz, &mut wanted.ext_authz);
    waiting.keep("[limits]", &running.limits, &mut wanted.limits);
    waiting
}

/// Adds which settings are those from before a reload to an error about a configuration that has such.
pub(crate) fn explain(waiting: &PendingChanges, error: ProgramError) -> ProgramError {
    if waiting.0.is_empty() {
        return error;
    }
    let kept = waiting.0.join(", ");
    let note = format!("; these settings keep their earlier values until a restart: {kept}");
    match error {
        ProgramError::Settings(what) => ProgramError::Settings(what + &note),
        ProgramError::File { path, line, what } => {
            ProgramError::File { path, line, what: what + &note }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tessera_proxy::config::Document;

    use super::*;

    const GOOD: &str = include_str!("../../../packaging/edge.toml");

    fn parsed(text: String) -> EdgeConfig {
        Document::from_text(Path::new("/edge.toml"), text).parse().unwrap()
    }

    #[test]
    fn what_waits_for_a_restart_takes_along_what_belongs_to_it() {
        let by_cookie = GOOD
            .replace("named-by = \"certificate\"\nca = \"clients.pem\"", "named-by = \"cookie\"");
        let signer = "certificate = \"www.example.pem\"\nsigner = { servers = [\"s.internal:9444\"], name = \"www\", ca = \"s.pem\", certificate = \"a.pem\" }";
        let by_signer = GOOD.replace("certificate = \"www.example.pem\"", signer);
        let by_signer = by_signer.replace("\"www.example.pem\"", "\"other.pem\"");
        for (other, kept) in [
            (by_cookie, &["[clients] ca", "[clients] named-by"][..]),
            (by_signer, &["[proxy] signer", "[proxy] certificate"]),
        ] {
            for (running, wanted) in [(GOOD, &other[..]), (&other, GOOD)] {
                let (running, mut wanted) = (parsed(running.into()), parsed(wanted.into()));
                running.check().and_then(|()| wanted.check()).unwrap();
                let waiting = keep(&running, &mut wanted);
                assert_eq!(
                    (waiting.0, wanted),
                    (kept.iter().map(|it| (*it).to_owned()).collect(), running)
                );
            }
        }
    }

    #[test]
    fn an_error_names_the_settings_that_are_from_before_the_reload() {
        let by_cookie = GOOD
            .replace("named-by = \"certificate\"\nca = \"clients.pem\"", "named-by = \"cookie\"");
        let mut wanted = parsed(format!("{GOOD}admit = [\"drone.example\"]\n"));
        let waiting = keep(&parsed(by_cookie), &mut wanted);
        let error = explain(&waiting, wanted.check().unwrap_err()).to_string();
        assert!(
            error.starts_with("[service.web] admit: needs clients named by their cert"),
            "{error}"
        );
        assert!(error.ends_with("until a restart: [clients] ca, [clients] named-by"), "{error}");
    }
}
