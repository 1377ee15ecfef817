//! The registration of a running SEPP at its NRF.

use std::sync::Arc;

use http::{Request, Response};
use serde_json::Value;
use tessera_proxy::http::body::Body;
use tessera_proxy::http::deadline::Deadline;
use tokio::task::JoinHandle;

use super::shared::SharedState;
use crate::config::{Configuration, ListenAddress};
use crate::nrf::{Nrf, Registration, instance_id, profile};
use crate::sbi::api_root::ApiRoot;

/// Registers at the NRF of the configuration, if it has one, until the process ends. The configuration must have the
/// bound addresses.
pub(super) fn begin(
    configuration: &Configuration,
    shared: &Arc<SharedState>,
) -> Option<JoinHandle<()>> {
    let nrf = configuration.nrf.as_ref()?;
    let own_id = || instance_id(&configuration.local.fqdn);
    let registration = Registration {
        instance_id: nrf.instance_id.clone().unwrap_or_else(own_id),
        heartbeat: nrf.heartbeat,
        nrf: SbiNrf {
            root: nrf.uri.to_string(),
            sbi: configuration.listen.sbi.clone(),
            shared: shared.clone(),
        },
    };
    shared.metrics.registered(false);
    Some(tokio::spawn(registration.keep(shared.ending.subscribe(), shared.sepp.watch())))
}

/// The NRF, reached like other local network functions.
struct SbiNrf {
    root: String,
    sbi: ListenAddress,
    shared: Arc<SharedState>,
}

impl Nrf for SbiNrf {
    async fn send(
        &self,
        request: Request<Body>,
        deadline: Deadline,
    ) -> Result<Response<Body>, String> {
        let root = ApiRoot::configured(&self.root)
            .map_err(|_| "[nrf] uri is not the address of an API".to_owned())?;
        self.shared.sepp.ask_own(&root, request, deadline).await
    }

    fn profile(&self) -> Value {
        profile(&self.shared.sepp.live().configuration, &self.sbi)
    }

    fn is_registered(&self, is_registered: bool) {
        self.shared.metrics.registered(is_registered);
    }
}
