//! Which changes of a configuration must wait for a restart.

use tessera_proxy::changes::PendingChanges;
use tessera_proxy::lasting;

use crate::config::{Configuration, Listen, Local};

lasting!(Local: fqdn, plmns);
lasting!(Listen: sbi, n32c, n32f);

/// Resets settings that can't change while the process runs to their running values, and returns them.
pub(crate) fn keep(running: &Configuration, wanted: &mut Configuration) -> PendingChanges {
    let mut waiting = PendingChanges::default();
    waiting.keep_in("process", &running.process, &mut wanted.process);
    waiting.keep_in("local", &running.local, &mut wanted.local);
    waiting.keep_in("listen", &running.listen, &mut wanted.listen);
    let (old, new) = (&running.sbi, &mut wanted.sbi);
    // Switching between plaintext and TLS needs a restart; replacing the certificate file doesn't.
    if old.certificate.is_some() != new.certificate.is_some() {
        waiting.keep("[sbi] certificate", &old.certificate, &mut new.certificate);
        new.key.clone_from(&old.key);
    }
    if old.ca.is_some() != new.ca.is_some() {
        waiting.keep("[sbi] ca", &old.ca, &mut new.ca);
    }
    waiting.keep("[nrf]", &running.nrf, &mut wanted.nrf);
    waiting.keep("[limits]", &running.limits, &mut wanted.limits);
    waiting.keep("[tickets]", &running.tickets, &mut wanted.tickets);
    waiting
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tessera_proxy::config::Document;

    use super::*;

    fn configuration(text: &str) -> Configuration {
        let text = format!(
            "[local]\nfqdn = \"sepp.example.org\"\nplmns = [\"999-70\"]\ncertificate = \"a.pem\"\n\
             [listen]\nsbi = \":1\"\nn32c = \":2\"\nn32f = \":3\"\n{text}"
        );
        Document::from_text(Path::new("sepp.toml"), text).parse().unwrap()
    }

    #[test]
    fn settings_that_need_a_restart_are_named_and_stay_unchanged() {
        let old = configuration("");
        assert!(keep(&old, &mut old.clone()).0.is_empty());
        let mut new = configuration(
            "[process]\nthreads = 2\n[limits]\nstreams = 9\n[sbi]\nca = \"ca.pem\"\n[trust.v]\nplmns = [\"001-01\"]\n\
             roots = \"v.pem\"\n[guard]\nlog-only = [\"api\"]\n",
        );
        new.listen.n32f = ":4".parse().unwrap();
        let waiting = keep(&old, &mut new);
        assert_eq!(waiting.0, ["[process] threads", "[listen] n32f", "[sbi] ca", "[limits]"]);
        assert_eq!((&new.listen, &new.limits, &new.sbi), (&old.listen, &old.limits, &old.sbi));
        // A reload applies this.
        assert_eq!(new.guard.log_only, ["api"]);
        assert!(new.trust.contains_key("v"));
    }
}
