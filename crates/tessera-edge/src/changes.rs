//! Which changes of a configuration must wait for a restart.

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
        // Where the key is.
        (_, signer) => {
            waiting.keep("[proxy] signer", &own.signer, signer);
            waiting.keep("[proxy] key", &own.key, &mut new.key);
        }
    }
    waiting.keep("[envoys]", &running.envoys, &mut wanted.envoys);
    waiting.keep_in("peers", &running.peers, &mut wanted.peers);
    waiting.keep_in("clients", &running.clients, &mut wanted.clients);
    waiting.keep("[ext-authz]", &running.ext_authz, &mut wanted.ext_authz);
    waiting.keep("[limits]", &running.limits, &mut wanted.limits);
    waiting
}
