//! What of a new configuration has to wait for the next start.

use crate::config::Configuration;

/// Puts what can't change while the process runs back to what it is, and returns the keys of that as an operator
/// would write them: `[listen] n32c`.
pub(crate) fn keep(running: &Configuration, wanted: &mut Configuration) -> Vec<String> {
    let mut kept = Vec::new();
    let (old, new) = (&running.process, &mut wanted.process);
    key(&mut kept, "[process] admin", &old.admin, &mut new.admin);
    key(&mut kept, "[process] log", &old.log, &mut new.log);
    key(&mut kept, "[process] drain", &old.drain, &mut new.drain);
    key(&mut kept, "[process] threads", &old.threads, &mut new.threads);
    let (old, new) = (&running.local, &mut wanted.local);
    key(&mut kept, "[local] fqdn", &old.fqdn, &mut new.fqdn);
    key(&mut kept, "[local] plmns", &old.plmns, &mut new.plmns);
    let (old, new) = (&running.listen, &mut wanted.listen);
    key(&mut kept, "[listen] sbi", &old.sbi, &mut new.sbi);
    key(&mut kept, "[listen] n32c", &old.n32c, &mut new.n32c);
    key(&mut kept, "[listen] n32f", &old.n32f, &mut new.n32f);
    let (old, new) = (&running.sbi, &mut wanted.sbi);
    // From plaintext to TLS, or back: a file in the place of another one doesn't wait.
    if old.certificate.is_some() != new.certificate.is_some() {
        key(&mut kept, "[sbi] certificate", &old.certificate, &mut new.certificate);
        new.key.clone_from(&old.key);
    }
    if old.ca.is_some() != new.ca.is_some() {
        key(&mut kept, "[sbi] ca", &old.ca, &mut new.ca);
    }
    key(&mut kept, "[nrf]", &running.nrf, &mut wanted.nrf);
    key(&mut kept, "[limits]", &running.limits, &mut wanted.limits);
    key(&mut kept, "[tickets]", &running.tickets, &mut wanted.tickets);
    kept
}

fn key<T: Clone + PartialEq>(kept: &mut Vec<String>, key: &str, running: &T, wanted: &mut T) {
    if running != wanted {
        kept.push(key.to_owned());
        wanted.clone_from(running);
    }
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
    fn what_has_to_wait_is_named_and_stays_as_it_is() {
        let old = configuration("");
        assert!(keep(&old, &mut old.clone()).is_empty());
        let mut new = configuration(
            "[process]\nthreads = 2\n[limits]\nstreams = 9\n[sbi]\nca = \"ca.pem\"\n[trust.v]\nplmns = [\"001-01\"]\n\
             roots = \"v.pem\"\n[guard]\nlog-only = [\"api\"]\n",
        );
        new.listen.n32f = ":4".parse().unwrap();
        let waiting = keep(&old, &mut new);
        assert_eq!(waiting, ["[process] threads", "[listen] n32f", "[sbi] ca", "[limits]"]);
        assert_eq!((&new.listen, &new.limits, &new.sbi), (&old.listen, &old.limits, &old.sbi));
        // What a reload changes.
        assert_eq!(new.guard.log_only, ["api"]);
        assert!(new.trust.contains_key("v"));
    }
}
